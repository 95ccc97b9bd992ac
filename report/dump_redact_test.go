package report

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestRedactedFields: the SHA-256 of "abc" is from FIPS 180-4's examples.
func TestRedactedFields(t *testing.T) {
	in := `{"offset":42,"metadata":"abc","list":[{"userData":"abc","x":null},{"assignment":{"userData":"","topics":["metadata","abc"]}}],"metadata2":"abc","e":{},"a":[]}`
	hidden := `"(3 bytes, sha256 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad)"`
	want := strings.Replace(strings.Replace(in, `"metadata":"abc"`, `"metadata":`+hidden, 1), `"userData":"abc"`, `"userData":`+hidden, 1)
	d := &Decoded{Kind: "consumer-offsets", Value: json.RawMessage(in)}
	if got := string(redacted(d).Value); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if string(d.Value) != in || redacted(nil) != nil {
		t.Error("the record itself was changed")
	}
	for kind, in := range map[string]string{
		"DELEGATION_TOKEN_RECORD":      `{"owner":"abc","renewers":["abc","abc"],"issueTimestamp":1,"tokenId":"(redacted)"}`,
		"USER_SCRAM_CREDENTIAL_RECORD": `{"name":"abc","mechanism":1,"salt":"(redacted)"}`,
		"CLIENT_QUOTA_RECORD":          `{"entity":[{"entityType":"user","entityName":"abc"},{"entityType":"ip","entityName":null}],"key":"x"}`,
		"TOPIC_RECORD":                 `{"name":"def"}`,
	} {
		want := strings.ReplaceAll(in, `"abc"`, hidden)
		if got := string(redacted(&Decoded{Kind: "metadata-log", Type: kind, Value: json.RawMessage(in)}).Value); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got, want := string(redactMetadata(kind, json.RawMessage(`{"type":"t","data":`+in+`}`))), `{"type":"t","data":`+want+`}`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
