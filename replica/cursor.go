package replica

import "iter"

// Cursor is a stream of blocks that shows the next one before it is taken, for walking
// along two logs at once. Stop must be called at the end.
type Cursor struct {
	Block Block // the next block, if OK
	OK    bool
	Err   error // the failed read that ended the stream

	next func() (Block, error, bool)
	stop func()
}

// NewCursor begins with the first block of seq.
func NewCursor(seq iter.Seq2[Block, error]) *Cursor {
	next, stop := iter.Pull2(seq)
	c := &Cursor{next: next, stop: stop}
	c.Advance()
	return c
}

// Advance goes on to the next block.
func (c *Cursor) Advance() {
	b, err, ok := c.next()
	c.Block, c.OK = b, ok && err == nil
	if err != nil {
		c.Err = err
	}
}

// Stop ends the stream.
func (c *Cursor) Stop() { c.stop() }
