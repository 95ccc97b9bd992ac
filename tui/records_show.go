package tui

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"kafsck/batch"
	"kafsck/internal/visible"
	"kafsck/internaltopic"
	"kafsck/kraft"
)

// detailLine is a line of a record in full; text is escaped.
type detailLine struct {
	text string
	kind lineLook
}

type lineLook uint8

const (
	linePlain lineLook = iota
	lineHead
	lineDim
	lineBad
)

// maxTold bounds the bytes of a key or value that are laid out; what is left out is told.
const maxTold = 64 << 10

// teller collects the lines of a record.
type teller struct {
	w     int
	lines []detailLine
}

func (t *teller) add(kind lineLook, raw string) {
	for _, l := range wrap(escape(raw), t.w) {
		t.lines = append(t.lines, detailLine{l, kind})
	}
}

// tell is a record in full: what it is, key, value, headers.
func (d *batchData) tell(i, w int) []detailLine {
	t := &teller{w: max(w, 10)}
	r, ok := d.record(i)
	if !ok {
		t.add(lineBad, "This record is malformed.")
		return t.lines
	}
	h := &d.frame.head
	when := "no timestamp"
	if r.Timestamp != -1 {
		when = fmt.Sprintf("%s %s", d.timestampType(i), timestamp(r.Timestamp))
	}
	t.add(lineDim, fmt.Sprintf("offset %d, %s, %s", r.Offset, countOf(r.Len, "byte", "bytes"), when))
	if d.old == nil && h.HasProducer() {
		text := fmt.Sprintf("producer %d epoch %d", h.ProducerID, h.ProducerEpoch)
		if r.Sequence >= 0 {
			text += fmt.Sprintf(" sequence %d", r.Sequence)
		}
		if h.Attributes.Transactional() {
			text += ", in a transaction"
		}
		t.add(lineDim, text)
	}
	if h.Attributes.Control() {
		t.control(&r, h)
	} else {
		t.decoded(d, &r)
	}
	t.bytes("key", r.Key)
	if d.secret(&r) {
		t.add(lineHead, "value: "+notShown(r.Value))
	} else {
		t.bytes("value", r.Value)
	}
	for n, x := range r.Headers {
		if n == 1000 {
			t.add(lineDim, comma(int64(len(r.Headers)-n))+" more headers; x shows the command that prints all")
			break
		}
		t.bytes("header "+inQuotes(x.Key), x.Value)
	}
	if len(r.Headers) == 0 && d.old == nil {
		t.add(lineDim, "no headers")
	}
	return t.lines
}

// bytes lays out bytes: JSON indented, text as lines, anything else in hex.
func (t *teller) bytes(name string, b []byte) {
	if b == nil {
		t.add(lineHead, name+": null")
		return
	}
	size := countOf(int64(len(b)), "byte", "bytes")
	if len(b) == 0 {
		t.add(lineHead, name+": empty")
		return
	}
	shown := b[:min(len(b), maxTold)]
	switch {
	case len(b) <= maxTold && visible.IsText(b) && looksJSON(b):
		var out bytes.Buffer
		if json.Indent(&out, b, "", "  ") == nil {
			t.add(lineHead, name+": JSON, "+size)
			t.text(out.String())
			return
		}
	case visible.IsText(visible.WholeRunes(shown)):
		t.add(lineHead, name+": text, "+size)
		t.text(string(visible.WholeRunes(shown)))
		t.rest(len(b) - len(shown))
		return
	}
	t.add(lineHead, name+": "+size+whatNumber(b))
	shown = b[:min(len(b), maxTold/16)]
	per := 16
	if t.w < 76 {
		per = 8
	}
	if t.w < 42 {
		per = 4
	}
	for at := 0; at < len(shown); at += per {
		row := shown[at:min(at+per, len(shown))]
		text := fmt.Sprintf("  %6d  ", at)
		for i := range per {
			if i < len(row) {
				text += hex.EncodeToString(row[i:i+1]) + " "
			} else {
				text += "   "
			}
			if i == 7 && per == 16 {
				text += " "
			}
		}
		text += " "
		for _, c := range row {
			if c < 0x20 || c > 0x7e {
				c = '.'
			}
			text += string(rune(c))
		}
		t.lines = append(t.lines, detailLine{text, linePlain})
	}
	t.rest(len(b) - len(shown))
}

// rest tells what is left out.
func (t *teller) rest(n int) {
	if n > 0 {
		t.add(lineDim, "… "+humanBytes(int64(n))+" more; x shows the command that prints all")
	}
}

// text lays out text line by line; a line feed ends a line, all else is escaped.
func (t *teller) text(s string) {
	s = strings.TrimSuffix(s, "\n")
	for _, l := range strings.Split(s, "\n") {
		for _, part := range wrap(escape(strings.TrimSuffix(l, "\r")), max(t.w-2, 8)) {
			t.lines = append(t.lines, detailLine{"  " + part, linePlain})
		}
	}
}

// whatNumber says which number 4 or 8 bytes are: keys and counters are often one.
func whatNumber(b []byte) string {
	var n int64
	switch len(b) {
	case 4:
		n = int64(int32(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])))
	case 8:
		for _, c := range b {
			n = n<<8 | int64(c)
		}
	default:
		return ""
	}
	return ", as a big-endian integer " + strconv.FormatInt(n, 10)
}

func looksJSON(b []byte) bool {
	trimmed := bytes.TrimSpace(b)
	return len(trimmed) > 1 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(b)
}

// controlLine is a control record on one line.
func controlLine(r *batch.Record) string {
	c, err := batch.ParseControl(r.Key, r.Value)
	if err != nil {
		return err.Error()
	}
	switch c.Type {
	case batch.ControlAbort, batch.ControlCommit:
		return c.Type.String() + ", coordinator epoch " + itoa(c.CoordinatorEpoch)
	case batch.ControlLeaderChange:
		return c.Type.String() + ", leader " + itoa(c.LeaderID)
	}
	return c.Type.String()
}

// control explains a control record.
//
// Sources: ControlRecordType, EndTransactionMarker, KIP-98; KRaft's in KIP-595, KIP-630,
// KIP-853.
func (t *teller) control(r *batch.Record, h *batch.Header) {
	c, err := batch.ParseControl(r.Key, r.Value)
	if err != nil {
		t.add(lineBad, "A control record that cannot be decoded: "+err.Error())
		return
	}
	t.add(lineHead, "control record: "+controlLine(r))
	switch c.Type {
	case batch.ControlAbort:
		t.add(linePlain, fmt.Sprintf("It ends the transaction of producer %d: all its records of epoch %d since its last marker are aborted. A consumer with isolation.level=read_committed does not get them.", h.ProducerID, h.ProducerEpoch))
		t.add(linePlain, fmt.Sprintf("Written by the transaction coordinator under its epoch %d.", c.CoordinatorEpoch))
	case batch.ControlCommit:
		t.add(linePlain, fmt.Sprintf("It ends the transaction of producer %d: all its records of epoch %d since its last marker are committed, and read_committed consumers get them.", h.ProducerID, h.ProducerEpoch))
		t.add(linePlain, fmt.Sprintf("Written by the transaction coordinator under its epoch %d.", c.CoordinatorEpoch))
	case batch.ControlLeaderChange:
		t.add(linePlain, fmt.Sprintf("Node %d became leader of the metadata quorum with epoch %d; voters %s, votes from %s.", c.LeaderID, h.PartitionLeaderEpoch, voterIDs(c.Voters), voterIDs(c.GrantingVoters)))
	case batch.ControlSnapshotHeader:
		t.add(linePlain, "The first record of a metadata snapshot; the newest record that it stands for is of "+timestamp(c.LastContainedLogTimestamp)+".")
	case batch.ControlSnapshotFooter:
		t.add(linePlain, "The last record of a metadata snapshot: it is complete.")
	case batch.ControlKRaftVersion:
		t.add(linePlain, fmt.Sprintf("kraft.version is %d from here on.", c.KRaftVersion))
	case batch.ControlKRaftVoters:
		t.add(linePlain, "The voters of the metadata quorum are "+voterIDs(c.Voters)+" from here on.")
	default:
		t.add(linePlain, "Kafka skips control records of types that it does not know.")
	}
}

func voterIDs(list []batch.Voter) string {
	ids := make([]string, 0, len(list))
	for i, v := range list {
		if i == 20 {
			ids = append(ids, "… ("+itoa(len(list))+")")
			break
		}
		ids = append(ids, itoa(v.ID))
	}
	return "[" + strings.Join(ids, ", ") + "]"
}

// decodedLine is what Kafka's own record says, on one line; "" for all others.
func (d *batchData) decodedLine(r *batch.Record) string {
	if d.log.metadata {
		if m, err := kraft.DecodeRecord(r.Value); err == nil {
			text, _ := m.MarshalJSON() // never fails
			return string(text)
		}
		return ""
	}
	topic, ok := internaltopic.TopicOf(d.log.part.Topic)
	if !ok {
		return ""
	}
	rec := topic.Decode(r.Key, r.Value)
	switch {
	case rec.Name == "":
		return ""
	case rec.Tombstone:
		return rec.Name + " " + string(rec.AppendKeyJSON(nil)) + " → deleted"
	case rec.Err != nil:
		return ""
	}
	return rec.Name + " " + string(rec.AppendKeyJSON(nil)) + " → " + string(rec.AppendValueJSON(nil))
}

// decoded tells what Kafka's own records say.
func (t *teller) decoded(d *batchData, r *batch.Record) {
	tell := func(what string, text []byte) {
		var out bytes.Buffer
		if len(text) == 0 || len(text) > maxTold || json.Indent(&out, text, "", "  ") != nil {
			return
		}
		t.add(lineHead, what)
		t.text(out.String())
	}
	if d.log.metadata {
		m, err := kraft.DecodeRecord(r.Value)
		if err != nil {
			t.add(lineBad, "not decoded as a metadata record: "+err.Error())
			return
		}
		text, _ := m.MarshalJSON() // never fails
		tell("metadata record: "+m.Type(), text)
		return
	}
	topic, ok := internaltopic.TopicOf(d.log.part.Topic)
	if !ok {
		return
	}
	rec := topic.Decode(r.Key, r.Value)
	if rec.Err != nil {
		t.add(lineBad, "not decoded as a record of "+topic.String()+": "+rec.Err.Error())
	}
	if rec.Name == "" {
		return
	}
	if rec.KeyDecoded {
		tell(rec.Name+", key decoded", rec.AppendKeyJSON(nil))
	}
	switch {
	case rec.Tombstone:
		t.add(lineHead, rec.Name+": deleted (no value)")
	case rec.Err == nil:
		tell(rec.Name+", value decoded", rec.AppendValueJSON(nil))
	}
}
