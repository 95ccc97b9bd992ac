package commitment

import (
	"strings"
	"testing"
)

func TestWeigh(t *testing.T) {
	yes, no, unknown := Evidence{Says: Yes}, Evidence{Says: No}, Evidence{Says: Unknown}
	for _, tc := range []struct {
		list []Evidence
		want Grade
	}{
		{nil, Unknown},
		{[]Evidence{unknown}, Unknown},
		{[]Evidence{no}, No},
		{[]Evidence{no, yes}, Yes},
		{[]Evidence{yes, no, unknown}, Yes},
	} {
		if got := Weigh(tc.list); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.list, got, tc.want)
		}
	}
}

func TestHighWatermark(t *testing.T) {
	w := &HighWatermark{Copy: 1, Broker: 7, Value: 200, WrittenMs: 5000, Dated: true, Began: map[int32]int64{0: 1000, 2: 6000}, Silent: []Span{{150, 160}}}
	for _, tc := range []struct {
		name string
		p    Piece
		want bool
	}{
		{"below, held, older epoch", Piece{From: 100, To: 150, Epoch: 0, Copies: []int{1}}, true},
		{"up to the watermark", Piece{From: 160, To: 200, Epoch: 0, Copies: []int{0, 1}}, true},
		{"beyond it", Piece{From: 199, To: 201, Epoch: 0, Copies: []int{1}}, false},
		{"not held by its own copy", Piece{From: 100, To: 150, Epoch: 0, Copies: []int{0}}, false},
		{"the epoch began after the file was written", Piece{From: 100, To: 150, Epoch: 2, Copies: []int{1}}, false},
		{"other records on the same later line", Piece{From: 150, To: 155, Epoch: 0, Copies: []int{1}}, false},
	} {
		if _, ok := w.Testify(&tc.p); ok != tc.want {
			t.Errorf("%s: %v", tc.name, ok)
		}
	}
	undated := *w
	undated.Dated = false
	e, ok := undated.Testify(&Piece{From: 100, To: 150, Epoch: 2, Copies: []int{1}})
	if !ok || !strings.Contains(e.Claim, "nothing dates the file") {
		t.Errorf("undated: %v %q", ok, e.Claim)
	}
}

func TestISRHistory(t *testing.T) {
	w := &ISRHistory{Epochs: map[int32][]ISRWindow{3: {
		{FromMs: 1000, ToMs: 2000, ISR: []int32{1, 2}, Replicas: 2, MinISR: 1},
		{FromMs: 2000, ToMs: 3000, ISR: []int32{1}, Replicas: 2, MinISR: 1, Wrote: true},
	}}}
	for _, tc := range []struct {
		name string
		p    Piece
		want bool
	}{
		{"all members hold it", Piece{Epoch: 3, MaxTimestamp: 1500, Brokers: []int32{1, 2}}, true},
		{"a later ISR that wrote holds it", Piece{Epoch: 3, MaxTimestamp: 1500, Brokers: []int32{1}}, true},
		{"a member lacks it", Piece{Epoch: 3, MaxTimestamp: 1500, Brokers: []int32{2}}, false},
		{"client clock outside the epoch", Piece{Epoch: 3, MaxTimestamp: 500, Brokers: []int32{1, 2}}, false},
		{"another epoch", Piece{Epoch: 4, MaxTimestamp: 1500, Brokers: []int32{1, 2}}, false},
	} {
		if _, ok := w.Testify(&tc.p); ok != tc.want {
			t.Errorf("%s: %v", tc.name, ok)
		}
	}
	for i := range w.Epochs[3] {
		w.Epochs[3][i].MinISR = 2
	}
	if _, ok := w.Testify(&Piece{Epoch: 3, MaxTimestamp: 2500, Brokers: []int32{1}}); ok {
		t.Error("an ISR below min.insync.replicas proves nothing")
	}
	for i := range w.Epochs[3] {
		w.Epochs[3][i].MinISR = 0
	}
	if _, ok := w.Testify(&Piece{Epoch: 3, MaxTimestamp: 1500, Brokers: []int32{1, 2}}); ok {
		t.Error("an unknown min.insync.replicas proves nothing")
	}
}

func TestCleanElection(t *testing.T) {
	w := &CleanElection{After: map[int32]CleanSuccession{0: {Leader: 2, Epoch: 1, Start: 100}}}
	if _, ok := w.Testify(&Piece{From: 100, To: 105, Epoch: 0}); !ok {
		t.Error("from the start of the clean epoch on")
	}
	if _, ok := w.Testify(&Piece{From: 99, To: 100, Epoch: 0}); ok {
		t.Error("below the start of the clean epoch nothing is proved")
	}
	if _, ok := w.Testify(&Piece{From: 100, To: 105, Epoch: 1}); ok {
		t.Error("the clean epoch itself")
	}
}

func TestAckLog(t *testing.T) {
	const lines = `{"topic":"t","partition":0,"value":"a","acks":"all","offset":5}
{"topic":"t","partition":0,"value":"b","acks":"1","offset":6}

{"topic":"t","partition":0,"value":"c","acks":"all","error":"TimeoutException"}
{"topic":"t","partition":0,"value":"d","acks":"0","offset":7}
`
	log, err := ReadAcks(strings.NewReader(lines), "acks", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		offset int64
		value  string
		want   Acked
	}{{5, "a", AckedAll}, {5, "other", AckedUnknown}, {6, "b", AckedLeader}, {7, "d", AckedUnknown}, {9, "x", AckedUnknown}} {
		if got := log.Answer("t-0", tc.offset, []byte(tc.value)); got != tc.want {
			t.Errorf("%d %s: %s, want %s", tc.offset, tc.value, got, tc.want)
		}
	}
	log.Complete = true
	if got := log.Answer("t-0", 9, []byte("x")); got != AckedNo {
		t.Errorf("complete: %s", got)
	}
	if log.Skipped != 2 {
		t.Errorf("skipped %d", log.Skipped)
	}
	if _, err := ReadAcks(strings.NewReader("{\n"), "acks", false); err == nil || !strings.Contains(err.Error(), "acks line 1") {
		t.Errorf("a bad line: %v", err)
	}
}
