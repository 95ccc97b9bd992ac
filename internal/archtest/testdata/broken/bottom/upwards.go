package bottom

import (
	"testing/fstest"
	"unsafe"
)

var _ fstest.MapFS
var _ unsafe.Pointer
