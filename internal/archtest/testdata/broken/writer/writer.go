// Package writer may write.
package writer

import "os"

func write() { os.Create("a") }
