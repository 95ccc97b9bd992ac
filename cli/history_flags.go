package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// timeFlag is --from and --to.
type timeFlag struct {
	ms  int64
	set bool
}

func (f *timeFlag) String() string { return "" }
func (f *timeFlag) Type() string   { return "TIME" }

func (f *timeFlag) Set(s string) error {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999", "2006-01-02 15:04:05.999", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, strings.TrimSuffix(s, " UTC")); err == nil {
			f.ms, f.set = t.UnixMilli(), true
			if f.ms < 0 {
				return errNoTime
			}
			return nil
		}
	}
	return errNoTime
}

// skewFlag is --skew ID=DURATION, repeatable.
type skewFlag map[int32]time.Duration

func (f *skewFlag) Type() string { return "ID=DURATION" }

func (f *skewFlag) String() string {
	var words []string
	for _, id := range slices.Sorted(maps.Keys(*f)) {
		words = append(words, fmt.Sprintf("%d=%s", id, (*f)[id]))
	}
	return strings.Join(words, ",")
}

func (f *skewFlag) Set(s string) error {
	id, by, ok := strings.Cut(s, "=")
	n, err := strconv.ParseInt(id, 10, 32)
	d, err2 := time.ParseDuration(by)
	if !ok || err != nil || err2 != nil || n < 0 {
		return fmt.Errorf("want ID=DURATION, such as 2=-1.5s where broker 2's clock was a second and a half behind")
	}
	if *f == nil {
		*f = skewFlag{}
	}
	(*f)[int32(n)] = d
	return nil
}
