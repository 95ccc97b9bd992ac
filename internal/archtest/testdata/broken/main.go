// Command broken imports past the next layer.
package main

import (
	_ "broken/middle"
	_ "broken/top"
)

func main() {}
