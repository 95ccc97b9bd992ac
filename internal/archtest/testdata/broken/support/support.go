// Package support helps tests.
package support

import (
	"os"
	"testing"
)

func help(t *testing.T) { os.Create("a") }
