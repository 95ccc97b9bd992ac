package incident_test

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/internal/fixture"
)

// changed replaces the bytes of one file; its times stay.
func changed(t *testing.T, tree fstest.MapFS, name string, change func(string) string) {
	t.Helper()
	f := tree[name]
	if f == nil {
		t.Fatalf("no %s", name)
	}
	text := change(string(f.Data))
	if text == string(f.Data) {
		t.Fatalf("%s is as it was", name)
	}
	tree[name] = &fstest.MapFile{Data: []byte(text), Mode: f.Mode, ModTime: f.ModTime}
}

// withoutLine takes one line out of a checkpoint of offsets.
func withoutLine(start string) func(string) string {
	return func(text string) string {
		lines := strings.Split(text, "\n")
		i := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, start+" ") })
		if i < 0 {
			return text
		}
		n, _ := strconv.Atoi(lines[1])
		lines[1] = strconv.Itoa(n - 1)
		return strings.Join(slices.Delete(lines, i, i+1), "\n")
	}
}

// follower gives broker "to" a copy of a partition directory of broker "from" as it was when
// the log ended at the segment that begins at end: the files of older segments, byte by byte.
func follower(t *testing.T, tree fstest.MapFS, from, to, partition string, end int64) {
	t.Helper()
	meta := tree["broker-"+from+"/meta.properties"]
	text := ""
	for line := range strings.Lines(string(meta.Data)) {
		if !strings.HasPrefix(line, "directory.id") {
			text += strings.Replace(line, "node.id="+from, "node.id="+to, 1)
		}
	}
	tree["broker-"+to+"/meta.properties"] = &fstest.MapFile{Data: []byte(text), Mode: meta.Mode, ModTime: meta.ModTime}
	n, boundary := 0, end == 21
	for name, f := range maps.Clone(tree) {
		rest, ok := strings.CutPrefix(name, "broker-"+from+"/"+partition+"/")
		if !ok {
			continue
		}
		base, err := strconv.ParseInt(strings.TrimSuffix(rest, path.Ext(rest)), 10, 64)
		boundary = boundary || err == nil && base == end
		if err == nil && base >= end {
			continue
		}
		tree["broker-"+to+"/"+partition+"/"+rest] = f
		n++
	}
	if n == 0 || !boundary {
		t.Fatalf("%s has no segment that begins at %d", partition, end)
	}
}

// TestTransactionsProve: the word of __transaction_state on lost records. The recording is of
// one broker (transactions/stage1-killed); a second one gets its log up to offset 50 and rules,
// and the line of the high watermark is taken out, so that nothing else proves anything. The
// truth is the client's: which records belonged to transactions that it committed. All of
// them below the last such record were committed too, since a high watermark passes offsets in
// their order: the line that was taken out says 133.
func TestTransactionsProve(t *testing.T) {
	recording := fixture.Tree(t, "transactions")
	tree := below(recording, "stage1-killed")
	follower(t, tree, "2", "1", "tx-orders-0", 50)
	changed(t, tree, "broker-2/replication-offset-checkpoint", withoutLine("tx-orders 0"))
	highest := int64(-1)
	for _, s := range sendsOf(t, recording, "tx-orders", 0) {
		if s.intended == "committed" {
			highest = max(highest, s.offset)
		}
	}
	if highest != 131 {
		t.Fatalf("the last committed record of the recording is %d", highest)
	}
	rule := incident.Options{Leaders: map[string]int32{"tx-orders-0": 1}}
	p := stories(t, rule, tree)["tx-orders-0"]
	want := "\ncopy [132,133) records 1 epochs [0] committed unknown by [] held by [2] leader-behind" +
		"\ncopy [50,132) records 82 epochs [0] committed yes by [transaction] held by [2] leader-behind"
	if got := lossLines(p.Losses, true); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	e := p.Losses[0].Evidence[0]
	for _, s := range []string{"offsets 130–131 behind them", "of tx-app-1 (producer id 0, epoch 11)"} {
		if !strings.Contains(e.Claim, s) {
			t.Errorf("the claim lacks %q: %s", s, e.Claim)
		}
	}
	// dump/stage1-killed: tx-app-1 is in CompleteCommit (status 4), epoch 12, at offset 44.
	if !strings.HasSuffix(e.Source, "__transaction_state-0 offset 44") {
		t.Errorf("source %s", e.Source)
	}

	// A marker in the lost range proves nothing: without the coordinator's word the same
	// records and markers are there, and nothing says that they were replicated.
	alone := without(tree, func(name string) bool { return strings.Contains(name, "__transaction_state") })
	want = "\ncopy [50,133) records 83 epochs [0] committed unknown by [] held by [2] leader-behind"
	if got := lossLines(stories(t, rule, alone)["tx-orders-0"].Losses, true); got != want {
		t.Errorf("markers alone: got %s\nwant %s", got, want)
	}
}

// TestTransactionsOfOneEpoch: before transaction.version 2 all transactions of a producer share
// an epoch; the marker behind the records tells which of them was committed
// (transactions/stage3: transactional id old-style, 12, 13, 18, 19 on tx-stock-0 committed, 15
// and 16 aborted). The client's timestamps of this recording are years off, and must not matter.
func TestTransactionsOfOneEpoch(t *testing.T) {
	recording := fixture.Tree(t, "transactions")
	var committed, others []int64
	for _, s := range sendsOf(t, recording, "tx-stock", 0) {
		if s.offset >= 12 && s.intended == "commit" {
			committed = append(committed, s.offset)
		} else if s.offset >= 12 {
			others = append(others, s.offset)
		}
	}
	if !slices.Equal(committed, []int64{12, 13, 18, 19}) || !slices.Equal(others, []int64{15, 16}) {
		t.Fatalf("the recording has %v committed, %v aborted", committed, others)
	}
	for _, tc := range []struct {
		end         int64 // of the log that still holds the records
		claim, want string
	}{
		{21, "by the time of the marker behind them, offset 20", "\ncopy [12,20) records 8 epochs [4] committed yes by [transaction] held by [2] leader-behind" +
			"\ncopy [20,21) records 1 epochs [4] committed unknown by [] held by [2] leader-behind"},
		{18, "by the time of the marker behind them, offset 14", "\ncopy [12,14) records 2 epochs [4] committed yes by [transaction] held by [2] leader-behind" +
			"\ncopy [14,18) records 4 epochs [4] committed unknown by [] held by [2] leader-behind"},
		// Without the marker only the client's clock could tell, and here it is wrong.
		{14, "", "\ncopy [12,14) records 2 epochs [4] committed unknown by [] held by [2] leader-behind"},
	} {
		tree := below(recording, "stage3-resolved-clean")
		changed(t, tree, "broker-2/replication-offset-checkpoint", withoutLine("tx-stock 0"))
		follower(t, tree, "2", "1", "tx-stock-0", 21)
		const log = "/tx-stock-0/00000000000000000001.log"
		changed(t, tree, "broker-1"+log, func(s string) string { return cutAt(t, s, 12) })
		if tc.end < 21 {
			changed(t, tree, "broker-2/recovery-point-offset-checkpoint", withoutLine("tx-stock 0"))
			changed(t, tree, "broker-2"+log, func(s string) string { return cutAt(t, s, tc.end) })
		}
		p := stories(t, incident.Options{Leaders: map[string]int32{"tx-stock-0": 1}}, tree)["tx-stock-0"]
		if got := lossLines(p.Losses, true); got != tc.want {
			t.Errorf("to %d: got %s\nwant %s", tc.end, got, tc.want)
		} else if tc.claim != "" && !strings.Contains(p.Losses[0].Evidence[0].Claim, tc.claim) {
			t.Errorf("to %d: %s", tc.end, p.Losses[0].Evidence[0].Claim)
		}
	}
}

// cutAt cuts a .log where the batch that begins at an offset stands.
//
//	| base offset int64 | length int32 | … length bytes … |
func cutAt(t *testing.T, log string, offset int64) string {
	t.Helper()
	for at := 0; at+12 <= len(log); {
		if int64(binary.BigEndian.Uint64([]byte(log[at:]))) == offset {
			return log[:at]
		}
		at += 12 + int(binary.BigEndian.Uint32([]byte(log[at+8:])))
	}
	t.Fatalf("no batch begins at %d", offset)
	return ""
}

// tieredCase is the recording tiered/stage1-killed in which broker 3 had not yet dropped from
// its local log what it had copied to the remote tier: the very segments, from there. A second
// broker holds them up to offset 105 and rules; the line of the high watermark is taken out.
func tieredCase(t *testing.T) fstest.MapFS {
	t.Helper()
	stage := below(fixture.Tree(t, "tiered"), "stage1-killed")
	tree := without(stage, func(name string) bool { return !strings.HasPrefix(name, "broker-3/") })
	for name, f := range stage {
		dir, file := path.Split(name)
		if strings.Contains(dir, "/tier-keep-0-") && strings.HasSuffix(file, ".log") {
			tree["broker-3/tier-keep-0/"+file[:20]+".log"] = f
		}
	}
	changed(t, tree, "broker-3/replication-offset-checkpoint", withoutLine("tier-keep 0"))
	follower(t, tree, "3", "1", "tier-keep-0", 105)
	return tree
}

// TestTieredProves: what __remote_log_metadata says on lost records. The truth is the dump of
// that topic: segments 105–121, 122–138 and 139 of epoch 4 are COPY_SEGMENT_FINISHED, and the
// client's: latestTiered is 139, and the line that was taken out says 140. Offsets 140–144 were
// written in the moment of the kill.
func TestTieredProves(t *testing.T) {
	tree := tieredCase(t)
	rule := incident.Options{Leaders: map[string]int32{"tier-keep-0": 1}}
	p := stories(t, rule, tree)["tier-keep-0"]
	var held []string
	end := len(p.Losses) - 1
	if got := lossLines(p.Losses[end:], true); got != "\ncopy [140,145) records 5 epochs [4] committed unknown by [] held by [3] leader-behind" {
		t.Errorf("behind the tier: %s", got)
	}
	for i := range p.Losses[:end] {
		l := &p.Losses[i]
		if l.Committed != commitment.Yes || !hasKind(l, commitment.TieredKind) || !slices.Equal(l.Epochs, []int32{4}) {
			t.Errorf("%s", lossLines(p.Losses[i:i+1], true))
		}
		for _, c := range l.Copies {
			if c.State == incident.RemoteState {
				held = append(held, strconv.FormatInt(*l.From, 10)+"–"+strconv.FormatInt(*l.To-1, 10)+" "+c.File)
			}
		}
	}
	want := []string{"105–121 Dz_-cW-NT8aXZtxTQk9syg", "122–138 kFyQuDYiRvCNUhmWyZbmIA", "139–139 0AjJVjM6Rs23jFwmD6X2XQ"}
	if !slices.Equal(held, want) {
		t.Errorf("the remote tier holds %v, want %v", held, want)
	}

	// A copy to the tier that was not finished proves nothing, and holds nothing.
	started := maps.Clone(tree)
	changed(t, started, "broker-3/__remote_log_metadata-1/00000000000000000000.log", func(s string) string { return cutAt(t, s, 41) })
	p = stories(t, rule, started)["tier-keep-0"]
	last := p.Losses[len(p.Losses)-1]
	if *last.From != 139 || *last.To != 145 || last.Committed != commitment.Unknown || len(last.HeldBy) != 1 {
		t.Errorf("not finished: %s", lossLines(p.Losses, true))
	}
}

// TestOnlyTheTierHolds: broker 1 was elected without the records and leads epoch 5 from 105 on,
// where its log ends; broker 3's directory is gone. Only the remote tier has them.
func TestOnlyTheTierHolds(t *testing.T) {
	tree := without(tieredCase(t), func(name string) bool { return strings.HasPrefix(name, "broker-3/tier-keep-0/") })
	changed(t, tree, "broker-1/tier-keep-0/leader-epoch-checkpoint", func(string) string { return "0\n3\n0 0\n2 61\n5 105\n" })
	p := stories(t, incident.Options{Leaders: map[string]int32{"tier-keep-0": 1}}, tree)["tier-keep-0"]
	var got []string
	for i := range p.Losses {
		l := &p.Losses[i]
		if l.Basis != "trace" || l.Committed != commitment.Yes || !hasKind(l, commitment.TieredKind) || len(l.HeldBy) != 1 || l.HeldBy[0].Name != "remote tier" {
			t.Errorf("%s", lossLines(p.Losses[i:i+1], true))
		}
		got = append(got, strconv.FormatInt(*l.From, 10)+"–"+strconv.FormatInt(*l.To-1, 10))
	}
	if !slices.Equal(got, []string{"105–121", "122–138", "139–139"}) {
		t.Errorf("%v: %s", got, lossLines(p.Losses, true))
	}
}

// send is one record that the recording's client sent.
type send struct {
	offset   int64
	intended string
}

func sendsOf(t *testing.T, recording fstest.MapFS, topic string, partition float64) []send {
	t.Helper()
	var truth struct {
		Facts struct {
			Events []struct {
				Send     [][]any `json:"send"`
				Intended string  `json:"intended"`
			} `json:"events"`
		} `json:"facts"`
	}
	if err := json.Unmarshal(recording["truth.json"].Data, &truth); err != nil {
		t.Fatal(err)
	}
	var out []send
	for _, e := range truth.Facts.Events {
		for _, s := range e.Send {
			if s[0] == topic && s[1] == partition {
				out = append(out, send{int64(s[2].(float64)), e.Intended})
			}
		}
	}
	return out
}

// raised sets one line of a checkpoint of offsets.
func raised(t *testing.T, text, start string, to int64) string {
	t.Helper()
	lines := strings.Split(text, "\n")
	i := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, start+" ") })
	if i < 0 {
		t.Fatalf("no line of %s", start)
	}
	lines[i] = start + " " + strconv.FormatInt(to, 10)
	return strings.Join(lines, "\n")
}
