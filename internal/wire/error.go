package wire

import "strconv"

// Error says that the bytes ended early or do not form the type that was asked for.
type Error struct {
	Pos  int64  // byte position in the slice where the failed read began
	What string // for example "int32: 4 bytes needed, 1 left"
}

func (e *Error) Error() string {
	return "at byte " + strconv.FormatInt(e.Pos, 10) + ": " + e.What
}
