package model

import (
	"fmt"
	"strings"

	"staleproof/model/history"
)

// Defects is a set of defects, each a branch in the code of this package. The
// zero Defects is the protocol as it should be.
type Defects uint64

// The defects.
const (
	StoreIgnoresToken Defects = 1 << iota
	LocalCheckOnly
	RenewAndTrust
	StoreComparesIdentity
	StoreRefusesEqual
	StoreReappliesCopies
	TokenNotIncreased
	RenewalRaisesToken
	GrantWhileHeld
	HolderIgnoresRejection
	HolderSkipsRaise
	StoreChecksApart
	StoreCachesCheck
	CounterNotDurable
	SnapshotRestored
	StandbyLags
	ReleaseDeletesCounter
	StoreIgnoresOwner
	StoreAcksBeforeSync
	FenceNotPersisted
	SnapshotDropsFence
	ReplicaLags
	FenceCollected
	ReentryRaisesToken
	ManagerIgnoresIdentity
	DeadlineFromReceipt
	defectsEnd
)

// Defect describes one defect.
type Defect struct {
	Set  Defects // exactly one
	Name string
	Doc  string
	Case string // a public case in which it was made
}

// defectTable is in the order of the bits.
var defectTable = []Defect{
	{StoreIgnoresToken, "store-ignores-token",
		"the store applies every write and never looks at its token",
		"https://github.com/etcd-io/etcd/issues/10811"},
	{LocalCheckOnly, "local-check-only",
		"the holder looks at its own clock before it writes and sends no token with the write",
		"https://jepsen.io/blog/2020-01-30-etcd-3.4.3"},
	{RenewAndTrust, "renew-and-trust",
		"the holder renews its lease before every write, trusts that, and sends no token",
		"https://github.com/vespa-engine/vespa/issues/24458"},
	{StoreComparesIdentity, "store-compares-identity",
		"the store is given the lease's random identity: a different one is taken for the new holder, although it may be the old one",
		"https://github.com/awslabs/amazon-dynamodb-lock-client/issues/1"},
	{StoreRefusesEqual, "store-refuses-equal",
		"the store refuses token <= highest, and so the holder's own second write",
		"https://www.abyiber.com/blog/distributed-systems-fencing-tokens"},
	{StoreReappliesCopies, "store-reapplies-copies",
		"the store keeps no record of the operations it has served, so a copy of a message takes effect again",
		"https://github.com/aws/aws-sdk-java-v2/issues/6580"},
	{TokenNotIncreased, "token-not-increased",
		"the lease manager grants the next lease with the token of the last one",
		"https://github.com/foundationdb-rs/foundationdb-rs/issues/483"},
	{RenewalRaisesToken, "renewal-raises-token",
		"every renewal hands out a new token, so the holder's earlier writes are stale against its later ones",
		"https://github.com/awslabs/amazon-kinesis-client/issues/537"},
	{GrantWhileHeld, "grant-while-held",
		"the lease manager grants a lease although another is in force",
		"https://github.com/etcd-io/etcd/issues/11456"},
	{HolderIgnoresRejection, "holder-ignores-rejection",
		"a holder that was refused as stale goes on under the same token",
		"https://github.com/NishanthSpShetty/lignum/issues/34"},
	{HolderSkipsRaise, "holder-skips-raise",
		"a new holder reads before it has lifted the fence, so that a late write of the old holder is still accepted behind its back",
		"https://github.com/pravega/pravega/issues/1907"},
	{StoreChecksApart, "store-checks-apart",
		"the store checks the token in one step and writes in the next",
		"https://github.com/fedibird/mastodon/issues/137"},
	{StoreCachesCheck, "store-caches-check",
		"the store remembers that a lease was found valid and does not check it again",
		"https://github.com/apache/iceberg/issues/15447"},
	{CounterNotDurable, "counter-not-durable",
		"the lease manager keeps its counter in memory: after a restart it begins anew",
		"https://github.com/golemcloud/golem/issues/3845"},
	{SnapshotRestored, "snapshot-restored",
		"the lease manager comes back with an older snapshot of its state",
		"https://github.com/etcd-io/etcd/issues/16028"},
	{StandbyLags, "standby-lags",
		"the lease manager fails over to a standby that has not seen the last change",
		"https://github.com/EnterpriseDB/repmgr/issues/475"},
	{ReleaseDeletesCounter, "release-deletes-counter",
		"a release deletes the record that holds the counter",
		"https://github.com/apache/artemis/issues/6409"},
	{StoreIgnoresOwner, "store-ignores-owner",
		"the store compares the token's number alone and accepts an equal one of another lease",
		"https://github.com/golemcloud/golem/issues/3845"},
	{StoreAcksBeforeSync, "store-acks-before-sync",
		"the store answers before the write and its fence are durable",
		"https://github.com/apache/bookkeeper/issues/2706"},
	{FenceNotPersisted, "fence-not-persisted",
		"the store writes its values to disk but keeps the greatest token in memory",
		"https://github.com/oxia-db/oxia/issues/87"},
	{SnapshotDropsFence, "snapshot-drops-fence",
		"the store's snapshot holds the values and not the greatest token",
		"https://github.com/apache/pulsar/issues/26074"},
	{ReplicaLags, "replica-lags",
		"the store fails over to a replica that has not seen the last writes",
		"https://github.com/sorintlab/stolon/issues/783"},
	{FenceCollected, "fence-collected",
		"the store forgets the greatest token of a resource that was not used for a while",
		"https://github.com/slatedb/slatedb/issues/1622"},
	{ReentryRaisesToken, "reentry-raises-token",
		"a holder that acquires once more gets a new token, which fences its own outer operations",
		"https://github.com/redisson/redisson/blob/master/redisson/src/main/java/org/redisson/RedissonFencedLock.java"},
	{ManagerIgnoresIdentity, "manager-ignores-identity",
		"a renewal or a release acts on whatever lease is in force, whoever presents what",
		"https://github.com/brendanlong/lion-reader/issues/917"},
	{DeadlineFromReceipt, "deadline-from-receipt",
		"the holder counts its deadline from the receipt of the reply, not from the sending of its request",
		"https://github.com/golemcloud/golem/issues/3824"},
}

// AllDefects lists every defect.
func AllDefects() []Defect { return defectTable }

// Has reports whether d contains all of x.
func (d Defects) Has(x Defects) bool { return d&x == x }

// hasAny reports whether d contains at least one of x.
func (d Defects) hasAny(x Defects) bool { return d&x != 0 }

// String lists the names, joined by "+"; the empty set is "none".
func (d Defects) String() string {
	if d == 0 {
		return "none"
	}
	var names []string
	for _, x := range defectTable {
		if d.Has(x.Set) {
			names = append(names, x.Name)
		}
	}
	return strings.Join(names, "+")
}

// ParseDefects reads what [Defects.String] writes.
func ParseDefects(text string) (Defects, error) {
	if text == "none" || text == "" {
		return 0, nil
	}
	var d Defects
	for _, name := range strings.Split(text, "+") {
		x, ok := defectNamed(name)
		if !ok {
			return 0, fmt.Errorf("unknown defect %q: %s", name, nearest(name))
		}
		d |= x
	}
	return d, nil
}

// nearest says which defect was meant.
func nearest(name string) string {
	var names []string
	for _, x := range defectTable {
		names = append(names, x.Name)
	}
	if near := history.Nearest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return "expected none, or names of defects joined by +"
}

func defectNamed(name string) (Defects, bool) {
	for _, x := range defectTable {
		if x.Name == name {
			return x.Set, true
		}
	}
	return 0, false
}
