package cli

import (
	"math"
	"testing"
)

func TestParseRate(t *testing.T) {
	for s, want := range map[string]float64{
		"50MiB": 50 << 20, "50MiB/s": 50 << 20, " 50 MiB/s": 50 << 20, "1.5GB/s": 1.5e9, "1048576": 1 << 20, "1048576B/s": 1 << 20,
		"8kB": 8000, "8KB": 8000, "1KiB": 1024, "0.5TiB": 1 << 39, "2TB": 2e12, ".5MB": 5e5,
	} {
		if got, err := parseRate(s); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "MiB", "50Mb", "50Mbit/s", "50mib", "-1", "0", "0.5B", "1e9", "1..5MB", "50 M", "9999999TiB", "NaN", "Inf", "0x10"} {
		if got, err := parseRate(s); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"50MiB", "1.5GB/s", "1048576", "", "MB", "9e99", "1\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := parseRate(s)
		if err == nil && !(v >= 1 && v < math.MaxInt64) {
			t.Errorf("%q: %v", s, v)
		}
	})
}
