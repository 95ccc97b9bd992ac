package broker

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a release of Kafka, as far as behaviour depends on it.
type Version struct{ Major, Minor int }

// Latest is the release that is assumed where nobody says otherwise.
var Latest = Version{4, 3}

// ParseVersion reads "4", "3.9", "2.8.2". A missing minor number is the newest
// release of that major one.
func ParseVersion(s string) (Version, error) {
	parts := strings.Split(s, ".")
	major, err := strconv.Atoi(parts[0])
	last, known := lastMinor[major]
	if err != nil || !known || len(parts) > 4 {
		return Version{}, errRelease
	}
	v := Version{major, last}
	for i, p := range parts[1:] {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || n > 1000 {
			return Version{}, errRelease
		}
		if i > 0 {
			continue
		}
		if v.Minor = n; n > last || major == 0 && n < 8 {
			return Version{}, fmt.Errorf("want a release of Kafka from 0.8 to %s, such as 3.9", Latest)
		}
	}
	if v.Minor > last || v.Before(0, 8) {
		return Version{}, errRelease
	}
	return v, nil
}

// errRelease is the answer to what is no release whose behaviour is known.
var errRelease = fmt.Errorf("want a release of Kafka from 0.8 to %s, such as 3.9", Latest)

// lastMinor is the newest minor release of each major one.
var lastMinor = map[int]int{0: 11, 1: 1, 2: 8, 3: 9, 4: Latest.Minor}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Before reports whether v is an earlier release than major.minor.
func (v Version) Before(major, minor int) bool {
	return v.Major < major || v.Major == major && v.Minor < minor
}

// Era is how a follower finds where to cut its log when it meets a leader.
type Era uint8

// The eras, oldest first. A follower of message format 0 or 1 has no epochs and
// cuts at its high watermark in every one of them.
const (
	HighWatermarkEra Era = iota // before 0.11: cut to the own high watermark
	KIP101                      // 0.11 to 1.1: asks for the end of its last epoch, once
	KIP279                      // 2.0 to 2.7: asks again until both agree on an epoch
	FetchEra                    // since 2.8 (KIP-595): the fetch itself carries the epoch
)

// Era is how followers of this release truncate, with the inter.broker.protocol.version or
// metadata.version that is the release's own (below 2.7-IV1 later ones are KIP279 still).
func (v Version) Era() Era {
	switch {
	case v.Before(0, 11):
		return HighWatermarkEra
	case v.Before(2, 0):
		return KIP101
	case v.Before(2, 8):
		return KIP279
	}
	return FetchEra
}
