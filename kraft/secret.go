package kraft

import (
	"slices"
	"strings"

	"kafsck/internal/schema"
	"kafsck/internal/wire"
)

// secretConfigs end the names of configurations that Kafka declares as passwords (ConfigDef.Type.PASSWORD
// in 4.3.1), with a listener or a mechanism before them or not. In KRaft their values stand in the
// metadata log as they are.
var secretConfigs = []string{
	"password", "passphrase", "secret", "secret.key", "jaas.config", "ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.truststore.certificates",
}

func secretConfig(name string) bool {
	return slices.ContainsFunc(secretConfigs, func(end string) bool { return name == end || strings.HasSuffix(name, "."+end) })
}

// secretConfigRecord is ConfigRecord with a value that is not to be shown.
var secretConfigRecord = func() schema.Message {
	m := recordTypes[keyConfig].message
	m.Fields = slices.Clone(m.Fields)
	for i := range m.Fields {
		m.Fields[i].Secret = m.Fields[i].Name == "value"
	}
	return m
}()

// HoldsSecret reports whether the value of a metadata record holds what MarshalJSON replaces: the
// credentials of a user, a delegation token, a password among the configurations. It asks no more
// than the type where the record cannot be decoded: then a configuration may be one.
//
// RecordRedactor.toLoggableString is what Kafka itself shows of such records in its log; its
// kafka-dump-log shows all.
func HoldsSecret(value []byte) bool {
	r := wire.Make(value)
	frame, key := r.Uvarint(), r.Uvarint()
	if r.Err() != nil || frame != 1 {
		return false
	}
	switch key {
	case keyUserScramCredential, keyDelegationToken, keyRemoveDelegationToken:
		return true
	case keyConfig:
		rec, err := DecodeRecord(value)
		return err != nil || secretConfig(rec.body.Text("name")) && !rec.body.IsNull("value")
	}
	return false
}
