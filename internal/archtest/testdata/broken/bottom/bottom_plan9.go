package bottom

import "os"
import . "syscall"
import _ "broken/top"

func elsewhere() { os.WriteFile("a", nil, 0o600); Exit(0) }
