package javatext

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Expected values are what jshell of Java 17 says.
func TestAppendUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"grün 😀":                    "grün 😀",
		"a\x80b":                    "a\uFFFDb",
		"\xc0\x80":                  "\uFFFD\uFFFD",
		"\xc3":                      "\uFFFD",
		"\xc3(":                     "\uFFFD(",
		"\xe2\x82":                  "\uFFFD",
		"\xe2\x82(":                 "\uFFFD(",
		"\xe0\x80\x80":              "\uFFFD\uFFFD\uFFFD",
		"\xed\xa0\x80":              "\uFFFD",
		"\xed\xa0":                  "\uFFFD",
		"\xed\xa0x":                 "\uFFFDx",
		"\xf0\x9f\x98":              "\uFFFD",
		"\xf0\x9f\x98x":             "\uFFFDx",
		"\xf0\x9f":                  "\uFFFD",
		"\xf0\x80\x80\x80":          "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xf4\x90\x80\x80":          "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xf5\x80\x80\x80":          "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xff\xfe":                  "\uFFFD\uFFFD",
		"\xf8\x88\x80\x80\x80":      "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD",
		"x\xed\xb0\x80\xed\xa0\x80": "x\uFFFD\uFFFD",
	} {
		if got := string(AppendUTF8([]byte("> "), []byte(in))); got != "> "+want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestAppendJSON(t *testing.T) {
	for in, want := range map[string]string{
		"":                     `""`,
		`a"b\c/`:               `"a\"b\\c/"`,
		"\b\t\n\v\f\r\x00\x1f": `"\b\t\n\u000B\f\r\u0000\u001F"`,
		"<&>\u2028\x7f":        "\"<&>\u2028\x7f\"",
		"\xff":                 "\"\uFFFD\"",
	} {
		if got := string(AppendJSON(nil, []byte(in))); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestAppendDouble(t *testing.T) {
	for want, f := range map[string]float64{
		"0.0": 0, "-0.0": math.Copysign(0, -1), "1.0": 1, "100.0": 100, "0.001": 1e-3, "1.0E-4": 1e-4, "9999999.0": 9999999, "1.0E7": 1e7,
		"1.5E300": 1.5e300, "123456.789": 123456.789, "4.9E-324": 5e-324, "NaN": math.NaN(), "-Infinity": math.Inf(-1), "1048576.0": 1 << 20, "1.073741824E9": 1 << 30,
	} {
		if got := string(AppendDouble(nil, f)); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
}

func TestHashOrder(t *testing.T) {
	if h := HashCode("/data/😀"); h != 1752625881 {
		t.Errorf("hash %d", h)
	}
	keys := []string{"b", "a", "q"} // q and a share a bucket of sixteen
	if got := HashOrder(keys); !slices.Equal(got, []string{"a", "q", "b"}) {
		t.Errorf("%v", got)
	}
}

func FuzzAppend(f *testing.F) {
	f.Add([]byte("a\xed\xa0\x80\xf0\x9f\x98"))
	f.Fuzz(func(t *testing.T, b []byte) {
		text := AppendUTF8(nil, b)
		if !utf8.Valid(text) || utf8.Valid(b) && string(text) != string(b) {
			t.Errorf("%q became %q", b, text)
		}
		if strings.Count(string(text), replacement) > len(b) {
			t.Errorf("%q became longer than it can: %q", b, text)
		}
		var back string
		quoted := AppendJSON(nil, b)
		if err := json.Unmarshal(quoted, &back); err != nil || back != string(text) {
			t.Errorf("%s: %q, %v", quoted, back, err)
		}
	})
}
