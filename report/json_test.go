package report

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

// A reader with floating point numbers would see 2^53+1 as 2^53.
func TestTextTwins(t *testing.T) {
	type inner struct {
		From int64  `json:"from"`
		To   *int64 `json:"to"`
	}
	to := int64(math.MaxInt64)
	for _, c := range []struct {
		in   any
		want string
	}{
		{inner{From: 1 << 53}, `{"from":9007199254740992,"to":null}`},
		{inner{From: 1<<53 + 1, To: &to}, `{"from":9007199254740993,"fromText":"9007199254740993","to":9223372036854775807,"toText":"9223372036854775807"}`},
		{inner{From: math.MinInt64}, `{"from":-9223372036854775808,"fromText":"-9223372036854775808","to":null}`},
		{struct {
			Sides []inner `json:"sides"`
			Last  int64   `json:"last"`
		}{[]inner{{From: -(1<<53 + 1)}}, 3}, `{"sides":[{"from":-9007199254740993,"fromText":"-9007199254740993","to":null}],"last":3}`},
		// Only members get a twin: not what is inside a string, nor a number in a list.
		{struct {
			Why  string  `json:"why"`
			List []int64 `json:"list"`
		}{`"from":9223372036854775807,\"`, []int64{to}}, `{"why":"\"from\":9223372036854775807,\\\"","list":[9223372036854775807]}`},
		{struct {
			X float64 `json:"x"`
		}{1e300}, `{"x":1e+300}`},
	} {
		line, err := json.Marshal(c.in)
		if err != nil {
			t.Fatal(err)
		}
		got := string(textTwins(line))
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("not JSON: %s", got)
		}
	}
}

func FuzzJSONLine(f *testing.F) {
	f.Add("key\x1b", int64(math.MaxInt64), "\"from\":9223372036854775807")
	f.Fuzz(func(t *testing.T, key string, n int64, text string) {
		var b strings.Builder
		j := NewJSON(&b, "ls", "v1")
		b.Reset()
		j.Line(map[string]any{key: n, "text": text})
		line := b.String()
		if !json.Valid([]byte(line)) || !isPrintable(strings.TrimSuffix(line, "\n")) {
			t.Errorf("%q", line)
		}
	})
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestFailedWriteIsKept(t *testing.T) {
	j := NewJSON(fullDisk{}, "ls", "v1")
	j.Line(errorLine{"error", "p", "m"})
	if j.Err() == nil {
		t.Error("the failed write is forgotten")
	}
}
