package tui

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"kafsck/batch"
	"kafsck/internal/fixture"
	"kafsck/kraft"
	"kafsck/segment"
)

// TestSecretsAreNotShown: of the users that a recorded cluster has, no salt and no key stands in a
// row, in a record in full, in its fields or in its JSON. What they are, kafka-dump-log's form says.
func TestSecretsAreNotShown(t *testing.T) {
	met := 0
	for path, file := range fixture.Tree(t, "metadata") {
		if !strings.Contains(path, "__cluster_metadata-0/") || !strings.HasSuffix(path, ".log") {
			continue
		}
		for f, err := range segment.Scan(bytes.NewReader(file.Data), int64(len(file.Data)), segment.ScanOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if f.Kind != segment.Batch || f.Damage != nil || f.Batch.Attributes.Control() {
				continue
			}
			d := &batchData{frame: frameOf(&f), raw: f.Raw, start: f.Raw[:batch.HeaderSize], selected: -1, log: &logFiles{metadata: true}}
			d.decode(t.Context(), &f)
			for i := range d.records {
				r, _ := d.record(i)
				m, err := kraft.DecodeRecord(r.Value)
				if err != nil || m.Type() != "USER_SCRAM_CREDENTIAL_RECORD" {
					continue
				}
				var plain struct {
					Data struct{ Salt, StoredKey, ServerKey []byte }
				}
				if err := json.Unmarshal(m.AppendKafkaJSON(nil), &plain); err != nil {
					t.Fatal(err)
				}
				rows := &recordRows{d: d}
				line, err := json.Marshal(rows.JSON(i))
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(string(line), `"valueSha256"`) || strings.Contains(string(line), `"value":`) {
					t.Errorf("%s", line)
				}
				shown := string(line) + fmt.Sprint(d.tell(i, 120)) + fmt.Sprint(d.fieldsOf(i)) + rows.Cell(i, 2) + rows.Cell(i, 3)
				if !strings.Contains(shown, "not shown: it holds a secret") || !strings.Contains(shown, "USER_SCRAM_CREDENTIAL_RECORD") {
					t.Errorf("%s", shown)
				}
				for _, secret := range [][]byte{plain.Data.Salt, plain.Data.StoredKey, plain.Data.ServerKey} {
					met++
					if len(secret) < 8 {
						t.Fatalf("%x", secret)
					}
					for _, s := range []string{string(secret), base64.StdEncoding.EncodeToString(secret), hex.EncodeToString(secret[:8]), fmt.Sprintf("% x", secret[:8])} {
						if strings.Contains(shown, s) {
							t.Errorf("%s offset %d shows %q", path, r.Offset, s)
						}
					}
				}
			}
		}
	}
	if met < 3 {
		t.Errorf("%d secrets were met", met)
	}
}
