package repair

import "slices"

// DoneVersion is the version of repair.json and of lost+found/manifest.json.
const DoneVersion = 1

// Done is what carrying out a plan did: repair.json, written by repair/apply.
type Done struct {
	Type    string `json:"type"` // "repair"
	Version int    `json:"version"`
	Kafsck  string `json:"kafsck"` // the version that repaired
	Out     string `json:"out"`    // as the user typed it; "" of an in-place repair
	// Backups are the folders with the originals of an in-place repair, one a root.
	Backups []string  `json:"backups,omitempty"`
	Carried []string  `json:"carriedOut"` // ids of actions
	NotDone []NotDone `json:"notDone"`
	Files   DoneFiles `json:"files"`
	// Dropped is what lies in lost+found, or among the originals of an in-place repair.
	Dropped []Dropped `json:"dropped"`
	// Starts are what a start on the result finds.
	Starts []DoneStart `json:"starts"`
	Notes  []string    `json:"notes"`
	Plan   *Plan       `json:"plan"`
}

// Complete reports whether nothing of the plan is open, and a broker starts on the result.
func (d *Done) Complete() bool { return d.OK() && len(d.NotDone) == 0 }

// OK reports whether every broker of the result starts on it.
func (d *Done) OK() bool {
	return !slices.ContainsFunc(d.Starts, func(s DoneStart) bool { return !s.OK })
}

// NotDone is an action that was not carried out.
type NotDone struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// DoneFiles counts the files of the result by how they came to be.
type DoneFiles struct {
	Copied   int   `json:"copied"`
	Cloned   int   `json:"cloned"` // the file system shares the blocks
	Linked   int   `json:"linked"` // one file with two names
	Resumed  int   `json:"resumed"`
	Composed int   `json:"composed"`
	Written  int   `json:"written"`
	Rebuilt  int   `json:"rebuilt"`
	Bytes    int64 `json:"bytes"` // of the result; in place of the new files
}

// Dropped is a run of bytes that an edit took out.
type Dropped struct {
	Root   string `json:"root"` // path of the input
	File   string `json:"file"` // below it
	From   int64  `json:"from"` // bytes [from, to)
	To     int64  `json:"to"`
	Kept   string `json:"kept"` // slash path below lost+found, or below the backup folder
	SHA256 string `json:"sha256,omitempty"`
	Action string `json:"action"`
	// FromOffset, ToOffset (exclusive), Epoch and Why are told of what a salvage kept.
	FromOffset *int64 `json:"fromOffset,omitempty"`
	ToOffset   *int64 `json:"toOffset,omitempty"`
	Epoch      *int32 `json:"epoch,omitempty"`
	Why        string `json:"why,omitempty"`
}

// DoneStart is what a start of one broker on the result finds.
type DoneStart struct {
	Broker *int32   `json:"broker"`
	Roots  []string `json:"roots"` // their names below OUT
	OK     bool     `json:"ok"`
	Why    string   `json:"why,omitempty"` // it is not
	// Partitions are those of the plan's promises, each kept.
	Partitions []DonePartition `json:"partitions"`
}

// DonePartition is what a start finds of a partition that was repaired.
type DonePartition struct {
	Partition      string     `json:"partition"`
	Dir            string     `json:"dir"` // slash path below OUT
	LogStartOffset int64      `json:"logStartOffset"`
	LogEndOffset   int64      `json:"logEndOffset"`
	Epochs         [][2]int64 `json:"epochs"`
}
