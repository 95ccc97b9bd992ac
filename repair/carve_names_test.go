package repair_test

import (
	"bytes"
	"strings"
	"testing"

	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/repair"
)

// TestCarveNames: a log gets the name of the only known log that has its batches, or that ends or has
// a hole where it begins; and none where two do.
func TestCarveNames(t *testing.T) {
	known, err := logdir.DiscoverFS(rofs.FromFS(logtest.FS(t, `
		broker 1 clusterid=x
		topic a-0 id=hF7bEvJ3TEm5wvFBX5mlPw ; segment 0
		batch base=0 records=10 value=a%d ; batch records=10 value=a%d ; batch base=50 records=10 value=a%d
		topic b-0 ; segment 0
		batch base=0 records=10 value=b%d ; batch records=20 value=b%d
		topic c-0 ; segment 0
		batch base=0 records=60 value=c%d`)), "copies", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer known.Close()
	for _, x := range []struct{ name, log, want, why string }{
		{"a batch of a", "batch base=10 records=10 value=a%d ; batch records=7 value=new", "a-0", "1 of its 2 batches"},
		{"all of b", "batch base=0 records=10 value=b%d ; batch records=20 value=b%d", "b-0", "all of its batches"},
		{"the hole of a", "batch base=20 records=30 value=lost%d", "a-0", "offsets 20–49 are missing in"},
		{"behind b", "batch base=30 records=5 value=new%d", "b-0", "begins at offset 30, where"},
		{"behind a and c", "batch base=60 records=5 value=new%d", "", ""},
		{"nowhere", "batch base=1000 records=5 value=new%d", "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			data := append(make([]byte, 4096), logtest.Log(t, x.log)...)
			c, _, _ := carveImage(t, data, repair.CarveOptions{Known: known})
			if len(c.Logs) != 1 || c.Logs[0].Partition != x.want || !strings.Contains(c.Logs[0].Named, x.why) {
				t.Fatalf("%d logs, the first %q named %q", len(c.Logs), c.Logs[0].Partition, c.Logs[0].Named)
			}
		})
	}
}

// TestCarveJoins: what puts pieces together, and what does not.
func TestCarveJoins(t *testing.T) {
	gap := make([]byte, 8192)
	block := func(b []byte) []byte { return append(b, make([]byte, (4096-len(b)%4096)%4096)...) }
	log := func(s string) []byte { return block(logtest.Log(t, s)) }
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, gap) }
	for _, x := range []struct {
		name   string
		data   []byte
		logs   int
		reason string // an assumption or a doubt of the first log
	}{
		{"the next offset", join(log("batch base=10 records=5 epoch=1"), log("batch base=0 records=10 epoch=1")), 1, "offset 10 follows on offset 9"},
		{"the epoch goes back", join(log("batch base=0 records=10 epoch=3"), log("batch base=10 records=10 epoch=1")), 2, ""},
		{"two that would go on", join(log("batch base=0 records=10"), log("batch base=10 records=10 value=x"), log("batch base=10 records=10 value=y")), 3, ""},
		{"a sequence decides", join(log("batch base=0 records=10 pid=7 pepoch=0 seq=0"), log("batch base=10 records=10 pid=7 pepoch=0 seq=10"), log("batch base=10 records=10 pid=8 pepoch=0 seq=10")), 2, "sequence number 10 of producer 7"},
		{"a damaged one between", log("batch base=0 records=10 ; batch records=10 ; batch records=10 ; damage batch=1 field=payload flip=80"), 1, "damaged batch whose header joins both"},
		{"ends that lap over", join(log("batch base=0 records=5 ; batch records=5 ; batch records=5"), log("batch base=5 records=5 ; batch records=5 ; batch records=5")), 1, "both hold the same 2 batches"},
		{"a fork", join(log("batch base=0 records=5 ; batch records=5 epoch=1"), log("batch base=0 records=5 ; batch records=5 epoch=2")), 2, "another history"},
		{"twice the same", join(log("batch base=0 records=5 ; batch records=5"), log("batch base=0 records=5 ; batch records=5")), 1, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, _, _ := carveImage(t, x.data, repair.CarveOptions{})
			if len(c.Logs) != x.logs {
				t.Fatalf("%d logs, want %d:%s", len(c.Logs), x.logs, summaryOf(c))
			}
			if !strings.Contains(summaryOf(c), x.reason) {
				t.Errorf("no %q in:%s", x.reason, summaryOf(c))
			}
		})
	}
}
