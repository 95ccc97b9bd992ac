package wire

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// UUID is Kafka's org.apache.kafka.common.Uuid: topic ids, directory ids, incarnations.
type UUID [16]byte

// String is Kafka's text form: 22 characters of base64url without padding.
func (u UUID) String() string { return base64.RawURLEncoding.EncodeToString(u[:]) }

// IsZero reports whether u is Uuid.ZERO_UUID, which Kafka uses for "none".
func (u UUID) IsZero() bool { return u == UUID{} }

// MarshalText returns the form of String, so that JSON shows what Kafka shows.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText accepts what ParseUUID accepts.
func (u *UUID) UnmarshalText(text []byte) error {
	v, err := ParseUUID(string(text))
	if err != nil {
		return err
	}
	*u = v
	return nil
}

// ParseUUID reads the text form, with or without the padding "==", as Uuid.fromString does.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	body := s
	if len(s) == 24 {
		body = strings.TrimSuffix(s, "==")
	}
	// Go's decoder would skip line ends; Java's refuses them.
	if len(body) != 22 || strings.ContainsAny(body, "\r\n") {
		return u, fmt.Errorf("uuid %.40q: want 22 characters of base64url", s)
	}
	if _, err := base64.RawURLEncoding.Decode(u[:], []byte(body)); err != nil {
		return UUID{}, fmt.Errorf("uuid %.40q: %v", s, err)
	}
	return u, nil
}
