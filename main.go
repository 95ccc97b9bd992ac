// Command kafsck reads copied Kafka log directories and tells what happened to
// the data. See "kafsck --help" and docs/.
package main

import (
	"os"

	"kafsck/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
