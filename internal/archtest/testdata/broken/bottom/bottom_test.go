package bottom

import (
	"os"
	"testing"

	_ "broken/support"
)

func TestWritesFreely(t *testing.T) { os.Remove("a") }
