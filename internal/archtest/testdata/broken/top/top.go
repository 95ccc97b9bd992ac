// Package top may import middle and use one library.
package top

import (
	_ "broken/middle"
	_ "broken/neighbour"
	_ "broken/support"

	_ "example.org/allowed"
	_ "example.org/other"
)
