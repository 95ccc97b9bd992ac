package repair_test

import (
	"bytes"
	"testing"

	"kafsck/repair"
)

// TestCarveAmid: a batch amid bytes of no batch, in which no offset is missing, may be the content of a value.
func TestCarveAmid(t *testing.T) {
	for _, l := range brokerLogs(t, "base") {
		if l.partition != "orders-0" || len(l.batches) < 4 || l.at[0] != 0 { // one without holes
			continue
		}
		junk := bytes.Repeat([]byte("junk "), 22)
		data := append(append([]byte("x"), l.data[:l.at[1]]...), junk...)
		at := int64(len(data))
		data = append(append(data, l.data[l.at[1]:l.at[2]]...), junk[:51]...)
		data = append(data, l.data[l.at[2]:]...)
		c, _, _ := carveImage(t, data, repair.CarveOptions{})
		if c.Amid != 1 || len(c.Apart) != 1 || !c.Apart[0].Amid || c.Apart[0].Pos != at {
			t.Fatalf("%d amid, apart %+v:%s", c.Amid, c.Apart, summaryOf(c))
		}
		return
	}
	t.Fatal("no log to try it on")
}
