package incident

import (
	"fmt"
	"runtime/debug"
)

// caught is a panic that was taken from one goroutine to be raised in another,
// so that it reaches whoever called and does not end the process from within.
type caught struct {
	value any
	stack []byte
}

// guard runs f and returns the panic that f raised, nil without one.
func guard(f func()) (c *caught) {
	defer func() {
		if v := recover(); v != nil {
			if again, ok := v.(*caught); ok {
				c = again
				return
			}
			c = &caught{value: v, stack: debug.Stack()}
		}
	}()
	f()
	return nil
}

// String shows the panic with the stack of the goroutine that raised it.
func (c *caught) String() string { return fmt.Sprintf("%v\n\n%s", c.value, c.stack) }

// Error lets whoever recovers print it as any other panic value.
func (c *caught) Error() string { return c.String() }
