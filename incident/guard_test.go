package incident

import (
	"strings"
	"testing"
)

func TestGuardCarriesThePanic(t *testing.T) {
	inner := guard(func() { panic("broken invariant") })
	outer := guard(func() { panic(inner) })
	if outer != inner || !strings.Contains(outer.Error(), "broken invariant") || !strings.Contains(outer.Error(), "TestGuardCarriesThePanic") {
		t.Errorf("got %v", outer)
	}
	if c := guard(func() {}); c != nil {
		t.Errorf("no panic, but %v", c)
	}
}
