package repair

import "fmt"

// offsetsOf names the offsets [from, to), shown inclusively.
func offsetsOf(from, to int64) string {
	if to <= from+1 {
		return fmt.Sprintf("offset %d", from)
	}
	return fmt.Sprintf("offsets %d–%d", from, to-1)
}
