package checker

// storeVerdicts are those of the properties about identities, scopes, updates
// and restarts.
var storeVerdicts = []verdict{
	{"no-lost-update", "the late write comes between the read and the write, and no token is stale", timed, `
		store served op=1 token=2 owner=B value=0
		store apply op=2 token=1 owner=A value=10
		store apply op=3 token=2 owner=B value=1 basis=1
	`, "a write with token 2 applied at #3 was based on the value of #1, which a late write of token 1 had changed at #2 (orders/7)"},
	{"no-lost-update", "the cure: the late write is refused", timed, `
		store raised op=4 token=2 owner=B
		store served op=1 token=2 owner=B value=0
		store reject op=2 token=1 owner=A highest=2
		store apply op=3 token=2 owner=B value=1 basis=1
	`, ""},
	{"no-lost-update", "the late write came before the read", timed, `
		store apply op=2 token=1 owner=A value=10
		store served op=1 token=2 owner=B value=10
		store apply op=3 token=2 owner=B value=11 basis=1
	`, ""},
	{"no-lost-update", "a write that used no value loses none", timed, `
		store served op=1 token=2 owner=B value=0
		store apply op=2 token=1 owner=A value=10
		store apply op=3 token=2 owner=B value=1
	`, ""},
	{"no-lost-update", "the holder's own write in between is its own affair", timed, `
		store served op=1 token=2 owner=B value=0
		store apply op=2 token=2 owner=B value=5
		store apply op=3 token=2 owner=B value=1 basis=1
	`, ""},
	{"no-lost-update", "another resource changed", timed, `
		store served op=1 token=2 owner=B value=0
		store apply op=2 token=1 owner=A value=10 r=orders/8
		store apply op=3 token=2 owner=B value=1 basis=1
	`, ""},
	{"no-lost-update", "based on its own write", timed, `
		store apply op=1 token=2 owner=B value=1
		store apply op=2 token=1 owner=A value=10
		store apply op=3 token=2 owner=B value=2 basis=1
	`, "a write with token 2 applied at #3 was based on the value of #1, which a late write of token 1 had changed at #2 (orders/7)"},

	{"no-lost-update", "the store does not note reads: what came after the answer came after the read", timed, `
		B ok read op=1 token=2
		store apply op=2 token=1 owner=A value=10
		store apply op=3 token=2 owner=B value=1 basis=1
	`, "a write with token 2 applied at #3 was based on the value of #1, which a late write of token 1 had changed at #2 (orders/7)"},
	{"no-lost-update", "the store does not note reads, and the late write came before the answer", timed, `
		store apply op=2 token=1 owner=A value=10
		B ok read op=1 token=2
		store apply op=3 token=2 owner=B value=1 basis=1
	`, ""},
	{"no-lost-update", "a copy of the read arrives after the late write, and nobody gets its answer", timed, `
		store served op=1 token=2 owner=B value=0
		B ok read op=1 token=2
		store apply op=2 token=1 owner=A value=10
		store served op=1 token=2 owner=B value=10
		store apply op=3 token=2 owner=B value=1 basis=1
	`, "a write with token 2 applied at #5 was based on the value of #1, which a late write of token 1 had changed at #3 (orders/7)"},
	{"no-lost-update", "the copy is answered", timed, `
		store served op=1 token=2 owner=B value=0
		store apply op=2 token=1 owner=A value=10
		store served op=1 token=2 owner=B value=10
		B ok read op=1 token=2
		store apply op=3 token=2 owner=B value=1 basis=1
	`, ""},
	{"no-lost-update", "the client alone says what its write was based on", timed, `
		store served op=1 token=2 owner=B value=0
		B invoke write op=3 token=2 value=1 basis=1
		store apply op=2 token=1 owner=A value=10
		store apply op=3 token=2 owner=B value=1
	`, "a write with token 2 applied at #4 was based on the value of #1, which a late write of token 1 had changed at #3 (orders/7)"},
	{"no-lost-update", "what failed is applied no more, and its number says nothing", timed, `
		store served op=1 token=2 owner=B value=0
		B invoke write op=3 token=2 value=1 basis=1
		B fail write op=3 token=2 error=unavailable
		store apply op=2 token=1 owner=A value=10
		store apply op=4 token=2 owner=B value=1
	`, ""},
	{"no-lost-update", "of many late writes the lowest since counts", timed, `
		store served op=1 token=9 owner=B value=0
		store apply op=2 token=1 owner=A value=1
		store apply op=3 token=2 owner=A value=2
		store apply op=4 token=3 owner=A value=3
		store apply op=5 token=4 owner=A value=4
		store apply op=6 token=5 owner=A value=5
		store served op=7 token=9 owner=B value=5
		store apply op=8 token=6 owner=A value=6
		store apply op=9 token=6 owner=B value=9 basis=7
		store apply op=10 token=2 owner=B value=9 basis=1
	`, "a write with token 2 applied at #10 was based on the value of #1, which a late write of token 1 had changed at #2 (orders/7)"},
	{"no-lost-update", "its own write came on top of the late one", timed, `
		store served op=1 token=2 owner=B value=0
		store apply op=2 token=1 owner=A value=10
		store apply op=3 token=2 owner=B value=20
		store apply op=4 token=2 owner=B value=1 basis=1
	`, "a write with token 2 applied at #4 was based on the value of #1, which a late write of token 1 had changed at #2 (orders/7)"},
	{"no-lost-update", "the late write carries no token at all", timed, `
		store served op=1 token=2 owner=B value=0
		store apply op=2 owner=A value=10
		store apply op=4 token=2 owner=B value=1 basis=1
	`, "a write with token 2 applied at #3 was based on the value of #1, which a late write of no token had changed at #2 (orders/7)"},

	{"linearizable", "a write that takes effect a second time undoes another", timed, `
		A invoke write op=1 token=1 value=1
		store apply op=1 token=1
		B invoke write op=2 token=1 value=2
		B invoke read op=3 token=1
		store served op=3 token=1
		B ok read op=3 token=1 value=1
		store apply op=2 token=1
		B ok write op=2 token=1
		B invoke read op=4 token=1
		store served op=4 token=1
		B ok read op=4 token=1 value=2
		store apply op=1 token=1
		A ok write op=1 token=1
		B invoke read op=5 token=1
		store served op=5 token=1
		B ok read op=5 token=1 value=1
	`, "write 1 with token 1 took effect a second time at #12 (orders/7)"},
	{"linearizable", "the first acceptance of the greatest token is quoted", timed, `
		B invoke raise op=1 token=2
		store raised op=1 token=2
		B ok raise op=1 token=2
		B invoke write op=2 token=2 value=2
		store apply op=2 token=2
		B ok write op=2 token=2
		A invoke write op=3 token=1 value=1
		store apply op=3 token=1
		A ok write op=3 token=1
	`, "the store accepted write 1 with token 1 at #8 although token 2 was accepted at #2 (orders/7)"},
	{"fence-survives", "one fence for every scope sinks in whichever is served", global, `
		store apply op=1 token=2 highest=2 r=x
		store apply op=2 token=1 highest=1 r=y
	`, "the store's greatest token was 2 at #1 and is 1 at #2 (y)"},
	{"fence-survives", "the fences of two scopes have nothing to do with each other", timed, `
		store apply op=1 token=2 highest=2 r=x
		store apply op=2 token=1 highest=1 r=y
	`, ""},
	{"fence-survives", "the fence is down after the crash", timed, `
		store apply op=1 token=2 highest=2 value=20
		store crash
		store restart
		store apply op=2 token=1 highest=1 value=10
	`, "the store's greatest token was 2 at #1 and is 1 at #4 (orders/7)"},
	{"fence-survives", "the fence is collected while the store is up", timed, `
		store raised op=1 token=2 highest=2
		store reject op=2 token=1 highest=1
	`, "the store's greatest token was 2 at #1 and is 1 at #2 (orders/7)"},
	{"fence-survives", "the fence is up after the crash", timed, `
		store apply op=1 token=2 highest=2 value=20
		store crash
		store restart
		store reject op=2 token=1 highest=2
	`, ""},
	{"fence-survives", "an acknowledged write is gone", timed, `
		store apply op=1 token=2 highest=2 value=20
		B ok write op=1 token=2
		store crash
		store restart
		store served op=3 token=2 value=10
	`, "the store served 10 at #5 after its restart at #4, and had acknowledged 20, written at #1 (orders/7)"},
	{"fence-survives", "a write that nobody was told of may be gone", timed, `
		store apply op=1 token=2 highest=2 value=10
		B ok write op=1 token=2
		store apply op=2 token=2 highest=2 value=20
		store crash
		store restart
		store served op=3 token=2 value=10
		store served op=4 token=2 value=10
	`, ""},
	{"fence-survives", "or may be there", timed, `
		store apply op=1 token=2 highest=2 value=10
		B ok write op=1 token=2
		store apply op=2 token=2 highest=2 value=20
		store crash
		store restart
		store served op=3 token=2 value=20
	`, ""},
	{"fence-survives", "but nothing older than what was acknowledged", timed, `
		store apply op=1 token=2 highest=2 value=10
		B ok write op=1 token=2
		store apply op=2 token=2 highest=2 value=20
		store crash
		store restart
		store served op=3 token=2 value=5
	`, "the store served 5 at #6 after its restart at #5, and had acknowledged 10, written at #1 (orders/7)"},
	{"fence-survives", "of two writes that nobody was told of one is gone", timed, `
		store apply op=1 token=1 value=1
		A ok write op=1
		store apply op=2 token=1 value=2
		store apply op=3 token=1 value=3
		store restart
		store served op=4 token=1 value=2
	`, ""},
	{"fence-survives", "a write whose answer came after the next one's effect must survive too", timed, `
		store apply op=1 token=1 value=1
		A ok write op=1
		store apply op=2 token=1 value=2
		store apply op=3 token=1 value=3
		A ok write op=2
		store restart
		store served op=4 token=1 value=1
	`, "the store served 1 at #7 after its restart at #6, and had acknowledged 2, written at #3 (orders/7)"},
	{"fence-survives", "a cas that was acknowledged must survive as well", timed, `
		store apply op=1 token=1 value=1
		A ok write op=1
		store apply op=2 token=1 value=2
		A ok cas op=2
		store restart
		store served op=4 token=1 value=1
	`, "the store served 1 at #6 after its restart at #5, and had acknowledged 2, written at #3 (orders/7)"},
	{"fence-survives", "notes that do not tell values say nothing of them", timed, `
		store apply op=1 token=1
		A ok write op=1
		store restart
		store served op=4 token=1 value=1
		store served op=5 token=1
	`, ""},
	{"fence-survives", "a deleted value may be what it was at first", timed, `
		store apply op=1 token=1 value=1
		A ok write op=1
		store apply op=2 token=1
		A ok delete op=2
		store restart
		store served op=4 token=1 value=0
	`, ""},
	{"fence-survives", "another process restarts", timed, `
		store apply op=1 token=2 highest=2 value=20
		B ok write op=1 token=2
		A restart
		store served op=3 token=2 value=10
	`, ""},
	{"fence-survives", "a note that names no greatest token says nothing of it", timed, `
		store apply op=1 token=2 highest=2
		store apply op=2 token=2
	`, ""},

	{"scope-isolation", "a request without an answer may have lifted the fence", timed, `
		A invoke write op=1 token=3
		store reject op=2 token=2 highest=3
	`, ""},
	{"scope-isolation", "also where the store names no greatest token", timed, `
		A invoke write op=1 token=3
		store reject op=2 token=2
	`, ""},
	{"scope-isolation", "but not where the store names another one", timed, `
		A invoke write op=1 token=3
		store reject op=2 token=2 highest=9
	`, "token 2 refused at #2 although the store had accepted no token (orders/7)"},
	{"scope-isolation", "nor one of another scope", timed, `
		A invoke write op=1 token=3 r=orders/8
		store reject op=2 token=2 highest=3
	`, "token 2 refused at #2 although the store had accepted no token (orders/7)"},
	{"scope-isolation", "nor one of the same lease", timed, `
		A invoke write op=1 token=2 lease=a
		store reject op=2 token=2 lease=a highest=2
	`, "token 2 refused at #2 although the store had accepted no token (orders/7)"},
	{"scope-isolation", "an equal token of another lease may", timed, `
		A invoke raise op=1 token=2 lease=b
		store reject op=2 token=2 lease=a highest=2
	`, ""},
	{"scope-isolation", "a read that was answered may have lifted it to an equal token of another lease", timed, `
		store served op=1 token=1 lease=b
		store reject op=2 token=1 lease=a highest=1
	`, ""},
	{"fence-survives", "what is read after a later write says nothing of the restart", timed, `
		A invoke write op=1 token=1 value=5
		store apply op=1 token=1 value=5
		A ok write op=1
		store restart
		A invoke write op=2 token=1 value=6
		store apply op=2 token=1 value=6
		store served op=3 token=1 value=9
	`, ""},
	{"linearizable", "a write that names no lease leaves the fence to the lease that brought it", timed, `
		A invoke write op=1 token=1 lease=a value=1
		store apply op=1 token=1 lease=a value=1
		A ok write op=1
		A invoke write op=2 token=1 value=2
		store apply op=2 token=1 value=2
		A ok write op=2
		B invoke write op=3 token=1 lease=b value=3
		store apply op=3 token=1 lease=b value=3
		B ok write op=3
	`, "the store accepted write 3 with token 1 at #8 although token 1 was accepted at #2 from another lease (orders/7)"},
	{"scope-isolation", "an answered request has no effect but those noted", timed, `
		A invoke write op=1 token=3
		A fail write op=1 token=3 error=unavailable
		store reject op=2 token=2 highest=3
	`, "token 2 refused at #3 although the store had accepted no token (orders/7)"},
	{"scope-isolation", "requests of unknown outcome are not forgotten, however many", timed, `
		A1 invoke write op=1 token=3 lease=c
		A1 info write op=1
		A2 invoke write op=2 token=12
		A2 info write op=2
		A3 invoke write op=3 token=11
		A3 info write op=3
		A4 invoke write op=4 token=10
		A4 info write op=4
		A5 invoke write op=5 token=9
		A5 info write op=5
		A6 invoke write op=6 token=8
		A6 info write op=6
		A7 invoke write op=7 token=7
		A7 info write op=7
		A8 invoke write op=8 token=6
		A8 info write op=8
		A9 invoke write op=9 token=5
		A9 info write op=9
		B invoke write op=10 token=2
		store reject op=10 token=2 highest=3
		B invoke write op=11 token=3 lease=a
		store reject op=11 token=3 lease=a highest=3
		B invoke write op=12 token=11
		store reject op=12 token=11
	`, ""},
	{"scope-isolation", "requests of unknown outcome justify no greatest token of their own", timed, `
		A1 invoke write op=1 token=3 lease=c
		A1 info write op=1
		A2 invoke write op=2 token=5 lease=d
		A2 info write op=2
		store reject op=10 token=2 highest=4
	`, "token 2 refused at #5 although the store had accepted no token (orders/7)"},
	{"scope-isolation", "nor do they justify the refusal of a greater one", timed, `
		A1 invoke write op=1 token=3 lease=c
		A1 info write op=1
		store reject op=10 token=4
	`, "token 4 refused at #3 although the store had accepted no token (orders/7)"},
	{"scope-isolation", "the lease that brought a token first has it, also where another one raised it later", timed, `
		store raised op=1 token=3 lease=b
		store raised op=2 token=3 lease=a
		store reject op=3 token=3 lease=a highest=3
		store reject op=4 token=3 lease=b highest=3
	`, "token 3 refused at #4 although the greatest token accepted is 3 of the same lease or an older one, at #1 (orders/7)"},
	{"scope-isolation", "a read justifies only a refusal that names its token", timed, `
		store served op=1 token=3
		store reject op=2 token=2 highest=4
	`, "token 2 refused at #2 although the store had accepted no token (orders/7)"},
	{"linearizable", "a raise with an equal token of another lease is accepted", timed, `
		A invoke raise op=1 token=1 lease=a
		store raised op=1 token=1 lease=a
		A ok raise op=1 token=1 lease=a
		B invoke raise op=2 token=1 lease=b
		store raised op=2 token=1 lease=b
		B ok raise op=2 token=1 lease=b
	`, "the store accepted raise with token 1 at #5 although token 1 was accepted at #2 from another lease (orders/7)"},
	{"fence-survives", "the fence that a read was shown has sunk", timed, `
		store apply op=1 token=2 highest=2
		store crash
		store restart
		store served op=2 token=2 highest=1
	`, "the store's greatest token was 2 at #1 and is 1 at #4 (orders/7)"},
	{"fence-survives", "a read shows the fence, which sinks later", timed, `
		store served op=1 token=2 highest=2
		store apply op=2 token=1 highest=1
	`, "the store's greatest token was 2 at #1 and is 1 at #2 (orders/7)"},
	{"fence-survives", "reads told the greatest token, and now there is none", timed, `
		store apply op=1 token=2 highest=2
		store served op=2 token=2 highest=2
		store crash
		store restart
		store served op=3 token=2
	`, "the store's greatest token was 2 at #1 and it has none at #5 (orders/7)"},
	{"fence-survives", "a mutation without a token shows that there is no fence left", timed, `
		store apply op=1 token=2 highest=2
		store restart
		store apply op=2
	`, "the store's greatest token was 2 at #1 and it has none at #3 (orders/7)"},
	{"fence-survives", "notes of reads that never told it say nothing", timed, `
		store apply op=1 token=2 highest=2
		store served op=2 token=2
		store served op=3
	`, ""},
	{"fence-survives", "a refusal need not know the greatest token", timed, `
		store apply op=1 token=2 highest=2
		store reject op=2 token=1 highest=2
		store reject op=3 token=1
	`, ""},
	{"fence-survives", "writes that nobody was told of are not forgotten, however many", timed, `
		A ok write op=9
		store apply op=1 token=1 value=1
		A ok write op=1
		store apply op=2 token=1 value=2
		store apply op=3 token=1 value=3
		store apply op=4 token=1 value=4
		store apply op=5 token=1 value=5
		store apply op=6 token=1 value=6
		store restart
		store served op=7 token=1 value=2
		store served op=8 token=1 value=9
	`, "the store served 9 at #11 after its restart at #9, and had acknowledged 1, written at #2 (orders/7)"},
	{"fence-survives", "writes without an answer may come to light after the restart, and nothing else", timed, `
		store apply op=1 token=1 value=1
		A ok write op=1
		A1 invoke write op=11 token=1 value=11
		A2 invoke write op=12 token=1 value=12
		A2 info write op=12
		A3 invoke write op=13 token=1 value=13
		A3 fail write op=13 error=unavailable
		B1 invoke write op=21 token=1 value=21
		B2 invoke write op=22 token=1 value=22
		B3 invoke write op=23 token=1 value=23
		B4 invoke write op=24 token=1 value=24
		B5 invoke write op=25 token=1 value=25
		B6 invoke write op=26 token=1 value=26
		B7 invoke write op=27 token=1 value=27
		B8 invoke write op=28 token=1 value=28
		store restart
		store served op=7 token=1 value=1
		store served op=7 token=1 value=11
		store served op=7 token=1 value=12
		store served op=7 token=1 value=28
		store served op=8 token=1 value=13
	`, "the store served 13 at #21 after its restart at #16, and had acknowledged 1, written at #1 (orders/7)"},
	{"fence-survives", "a write of unknown outcome that was applied before the acknowledged one is over", timed, `
		A invoke write op=1 token=1 value=1
		A info write op=1
		store apply op=1 token=1 value=1
		store apply op=2 token=1 value=2
		A ok write op=2
		store restart
		store served op=3 token=1 value=1
	`, "the store served 1 at #7 after its restart at #6, and had acknowledged 2, written at #4 (orders/7)"},
	{"fence-survives", "so is one whose client gave up after that", timed, `
		A invoke write op=1 token=1 value=1
		store apply op=1 token=1 value=1
		A info write op=1
		store apply op=2 token=1 value=2
		A ok write op=2
		store restart
		store served op=3 token=1 value=1
	`, "the store served 1 at #7 after its restart at #6, and had acknowledged 2, written at #4 (orders/7)"},
	{"fence-survives", "of two writes of one value and unknown outcome one may still come", timed, `
		A invoke write op=1 token=1 value=1
		A info write op=1
		A/2 invoke write op=4 token=1 value=1
		A/2 info write op=4
		store apply op=1 token=1 value=1
		store apply op=2 token=1 value=2
		A ok write op=2
		store restart
		store served op=3 token=1 value=1
	`, ""},
	{"fence-survives", "a write of unknown outcome and without a value explains all", timed, `
		A invoke delete op=1 token=1
		A info delete op=1
		store apply op=2 token=1 value=2
		A ok write op=2
		store restart
		store served op=3 token=1 value=1
	`, ""},
	{"scope-isolation", "refused for what another scope accepted", timed, `
		store apply op=1 token=5 lease=b r=orders/8
		store reject op=2 token=3 lease=a highest=5
	`, "token 3 refused at #2 although the store had accepted no token (orders/7)"},
	{"scope-isolation", "a deliberate global generation", global, `
		store apply op=1 token=5 lease=b r=orders/8
		store reject op=2 token=3 lease=a highest=5
	`, ""},
	{"scope-isolation", "a greater token justifies it", timed, `
		store apply op=1 token=5 lease=b
		store reject op=2 token=3 lease=a highest=5
	`, ""},
	{"scope-isolation", "an equal token of another lease justifies it", timed, `
		store apply op=1 token=3 lease=b
		store reject op=2 token=3 lease=a highest=3
	`, ""},
	{"scope-isolation", "its own token does not", timed, `
		store apply op=1 token=3 lease=a
		store reject op=2 token=3 lease=a highest=3
	`, "token 3 refused at #2 although the greatest token accepted is 3 of the same lease or an older one, at #1 (orders/7)"},
	{"scope-isolation", "nor does an older one", timed, `
		store apply op=1 token=2 lease=b
		store reject op=2 token=3 lease=a highest=9
	`, "token 3 refused at #2 although the greatest token accepted is 2 of the same lease or an older one, at #1 (orders/7)"},

	{"scope-isolation", "a read that was answered may have lifted the fence", timed, `
		store served op=1 token=3
		store reject op=2 token=2 highest=3
	`, ""},
	{"scope-isolation", "a read of an older token justifies nothing", timed, `
		store served op=1 token=1
		store reject op=2 token=2 highest=3
	`, "token 2 refused at #2 although the store had accepted no token (orders/7)"},
	{"lease-identity", "a renewal resurrects a lease that was superseded twice", timed, `
		L grant op=1 token=1 lease=a owner=A
		L expire token=1 lease=a owner=A
		L grant op=2 token=2 lease=b owner=B
		L released op=3 token=2 lease=b owner=B
		L renewed op=4 token=1 lease=a owner=A
	`, "a lease was renewed at #5 that had ended at #2 (orders/7)"},
	{"lease-identity", "clients: a renewal that began before the release ended may have come before it", timed, `
		A invoke renew op=1 lease=a
		A/2 invoke release op=2 lease=a client=A
		A/2 ok release op=2 lease=a client=A
		A ok renew op=1 lease=a
	`, ""},
	{"lease-identity", "clients: released twice", timed, `
		A invoke release op=1 lease=a
		A ok release op=1 lease=a
		A invoke release op=2 lease=a
		A ok release op=2 lease=a
	`, "a lease was released at #4 that had ended at #2 (orders/7)"},
	{"lease-identity", "clients: a renewal after the release is refused by right", timed, `
		A invoke release op=1 lease=a
		A ok release op=1 lease=a
		A invoke renew op=2 lease=a
		A fail renew op=2 lease=a
	`, ""},
	{"lease-identity", "clients: a renewal that began after the release resurrects", timed, `
		A invoke release op=1 lease=a
		A ok release op=1 lease=a
		A invoke renew op=2 lease=a
		A ok renew op=2 lease=a
	`, "a lease was renewed at #4 that had ended at #2 (orders/7)"},
	{"lease-identity", "a renewal of unknown outcome takes effect on another's lease", timed, `
		A invoke renew op=3 token=1 lease=a
		A info renew op=3 token=1 lease=a
		L renewed op=3 token=2 lease=b owner=B
	`, "the request at #1 took effect at #3 on another lease than it presented (orders/7)"},
	{"lease-identity", "a request is remembered after its answer: a copy of it may arrive later", timed, `
		A invoke renew op=3 token=1 lease=a
		A ok renew op=3 token=1 lease=a
		L renewed op=3 token=2 lease=b owner=B
	`, "the request at #1 took effect at #3 on another lease than it presented (orders/7)"},
	{"lease-identity", "an acquire was granted, and its client was told that it had failed", timed, `
		A invoke acquire op=1
		L grant op=1 token=1 lease=a owner=A
		A fail acquire op=1 error=503
	`, "the acquire at #1 took effect at #2 and yet failed at #3 (orders/7)"},
	{"lease-identity", "an acquire is granted after its client was told that it had failed", timed, `
		A invoke acquire op=1
		A fail acquire op=1 error=503
		L grant op=1 token=1 lease=a owner=A
	`, "the acquire at #1 failed at #2 and yet took effect at #3 (orders/7)"},
	{"lease-identity", "a release that failed took effect", timed, `
		L grant token=1 lease=a owner=A
		A invoke release op=1 lease=a
		L released op=1 token=1 lease=a owner=A
		A fail release op=1 error=503
	`, "the release at #2 took effect at #3 and yet failed at #4 (orders/7)"},
	{"lease-identity", "a renewal takes effect after it failed", timed, `
		L grant token=1 lease=a owner=A
		A invoke renew op=1 lease=a
		A fail renew op=1 error=503
		L renewed op=1 token=1 lease=a owner=A
	`, "the renew at #2 failed at #3 and yet took effect at #4 (orders/7)"},
	{"lease-identity", "an acquire of unknown outcome may be granted", timed, `
		A invoke acquire op=1
		L grant op=1 token=1 lease=a owner=A
		A info acquire op=1
		A/2 invoke acquire op=2
		A/2 fail acquire op=2 error=held
		A/2 invoke acquire op=3
		A/2 info acquire op=3
		L expire token=1 lease=a owner=A
		L grant op=3 token=2 lease=b owner=A
	`, ""},
	{"lease-identity", "in a simulation a duplicated request is refused once and granted once", simulated, `
		A invoke acquire op=1
		L grant op=1 token=1 lease=a owner=A
		A fail acquire op=1 error=held
	`, ""},
	{"lease-identity", "an acquire that enters again renews another lease", timed, `
		A invoke acquire op=1 lease=a
		L renewed op=1 token=1 lease=b owner=B
	`, "the request at #1 took effect at #2 on another lease than it presented (orders/7)"},
	{"lease-identity", "the same in a simulation", simulated, `
		A invoke acquire op=1 lease=a
		L renewed op=1 token=1 lease=b owner=B
	`, "the request at #1 took effect at #2 on another lease than it presented (orders/7)"},
	{"lease-identity", "an acquire that enters again is granted a new lease, or renews its own", timed, `
		A invoke acquire op=1 lease=a
		L grant op=1 token=1 lease=b owner=A
		A ok acquire op=1 token=1 lease=b
		A invoke acquire op=2 lease=b
		L renewed op=2 token=1 lease=b owner=A
		A ok acquire op=2 token=1 lease=b
	`, ""},
	{"lease-identity", "a lease that ended long ago is renewed", timed, `
		L expire token=1 lease=a owner=A
		L expire token=2 lease=b owner=B
		L expire token=3 lease=c owner=B
		L expire token=4 lease=d owner=B
		L expire token=5 lease=e owner=B
		L expire token=6 lease=f owner=B
		L renewed token=1 lease=a owner=A
	`, "a lease was renewed at #7 that had ended at #1 (orders/7)"},
	{"lease-identity", "an identity that is granted anew may be renewed: a session holds one lease after another", timed, `
		L grant token=1 lease=a owner=A
		L released token=1 lease=a owner=A
		L grant token=2 lease=a owner=A
		L renewed token=2 lease=a owner=A
		L released token=2 lease=a owner=A
	`, ""},
	{"lease-identity", "clients: an identity that is acquired anew may be released again", timed, `
		A invoke release op=1 lease=a
		A ok release op=1 lease=a
		A invoke acquire op=2
		A ok acquire op=2 lease=a
		A invoke release op=3 lease=a
		A ok release op=3 lease=a
	`, ""},
	{"lease-identity", "clients: an acquisition of unknown outcome by that identity may have been granted", timed, `
		A invoke release op=1 lease=a
		A ok release op=1 lease=a
		A invoke acquire op=2 lease=a
		A info acquire op=2 lease=a
		A/2 invoke renew op=3 lease=a client=A
		A/2 ok renew op=3 lease=a client=A
	`, ""},
	{"lease-identity", "clients: a renewal in flight was under way when the lease ended, the next one was not", timed, `
		A invoke renew op=1 lease=a
		A/2 invoke release op=2 lease=a client=A
		A/2 ok release op=2 lease=a client=A
		A ok renew op=1 lease=a
		A invoke renew op=3 lease=a
		A ok renew op=3 lease=a
	`, "a lease was renewed at #6 that had ended at #3 (orders/7)"},
	{"lease-identity", "a lease that ends again and again takes one place of those remembered", timed, `
		L expire token=1 lease=a owner=A
		L expire token=2 lease=b owner=B
		L expire token=2 lease=b owner=B
		L expire token=2 lease=b owner=B
		L expire token=2 lease=b owner=B
		L renewed token=1 lease=a owner=A
	`, "a lease was renewed at #6 that had ended at #1 (orders/7)"},
	{"lease-identity", "of the ends of a lease the first is quoted", timed, `
		L expire token=1 lease=a owner=A
		L expire token=1 lease=a owner=A
		L renewed token=1 lease=a owner=A
	`, "a lease was renewed at #3 that had ended at #1 (orders/7)"},
	{"lease-identity", "a renewal that names no lease is of none that ended", timed, `
		L expire token=1 lease=a owner=A
		L renewed token=1 owner=A
	`, ""},
	{"lease-identity", "a renewal takes effect on another's lease", timed, `
		L grant token=2 lease=b owner=B
		A invoke renew op=3 token=1 lease=a
		L renewed op=3 token=2 lease=b owner=B
	`, "the request at #2 took effect at #3 on another lease than it presented (orders/7)"},
	{"lease-identity", "a release takes effect on another's lease", timed, `
		L grant token=2 lease=b owner=B
		A invoke release op=3 token=1 lease=a
		L released op=3 token=2 lease=b owner=B
	`, "the request at #2 took effect at #3 on another lease than it presented (orders/7)"},
	{"lease-identity", "its own", timed, `
		L grant token=2 lease=b owner=B
		B invoke renew op=3 token=2 lease=b
		L renewed op=3 token=2 lease=b owner=B
		B invoke release op=4 token=2 lease=b
		L released op=4 token=2 lease=b owner=B
	`, ""},
	{"lease-identity", "a renewal resurrects an expired lease", timed, `
		L grant token=1 lease=a owner=A
		L expire token=1 lease=a owner=A
		A invoke renew op=3 token=1 lease=a
		L renewed op=3 token=1 lease=a owner=A
	`, "a lease was renewed at #4 that had ended at #2 (orders/7)"},
	{"lease-identity", "the next lease is renewed after one expired", timed, `
		L grant token=1 lease=a owner=A
		L expire token=1 lease=a owner=A
		L grant token=2 lease=b owner=A
		A invoke renew op=3 token=2 lease=b
		L renewed op=3 token=2 lease=b owner=A
	`, ""},
	{"lease-identity", "clients: a lease is renewed after its release", timed, `
		A ok acquire op=1 token=1 lease=a
		A ok release op=2 token=1 lease=a
		A ok renew op=3 token=1 lease=a
	`, "a lease was renewed at #3 that had ended at #2 (orders/7)"},
	{"lease-identity", "clients: released after a renewal", timed, `
		A ok acquire op=1 token=1 lease=a
		A ok renew op=2 token=1 lease=a
		A ok release op=3 token=1 lease=a
	`, ""},

	{"exclusive-belief", "a second client believes while the first still does", timed, `
		A believe t=1 token=1 lease=a owner=A until=10
		B believe t=5 token=2 lease=b owner=B until=15
	`, "B believes at #2 in its lease, and so does A since #1, until 10000000000 (orders/7)"},
	{"exclusive-belief", "of two that believe, by a clock that went back, the first is named", timed, `
		C disbelieve t=0
		B disbelieve t=0
		A believe t=1 until=3
		B believe t=5 until=8
		C believe t=2 until=9
	`, "C believes at #5 in its lease, and so does A since #3, until 3000000000 (orders/7)"},
	{"exclusive-belief", "who gave up believes at no time, be it before zero", timed, `
		A disbelieve t=-9
		B believe t=-5 until=8
	`, ""},
	{"exclusive-belief", "a belief that is over when it is noted is none", timed, `
		A believe t=1 until=10
		B believe t=5 until=5
	`, ""},
	{"exclusive-belief", "the first belief has run out", timed, `
		A believe t=1 token=1 lease=a owner=A until=10
		B believe t=10 token=2 lease=b owner=B until=20
	`, ""},
	{"exclusive-belief", "the first gave it up", timed, `
		A believe t=1 token=1 lease=a owner=A until=10
		A disbelieve t=3 token=1 lease=a owner=A
		B believe t=5 token=2 lease=b owner=B until=15
	`, ""},
	{"exclusive-belief", "a holder that crashed believes nothing", timed, `
		A believe t=1 until=10
		A crash t=2
		B believe t=5 until=15
	`, ""},
	{"exclusive-belief", "nor does one under another line of operations", timed, `
		A/1 believe t=1 until=10 client=A
		A crash t=2
		B believe t=5 until=15
	`, ""},
	{"exclusive-belief", "another process crashed", timed, `
		A believe t=1 until=10
		C crash t=2
		B believe t=5 until=15
	`, "B believes at #3 in its lease, and so does A since #1, until 10000000000 (orders/7)"},
	{"exclusive-belief", "what it believes after its restart counts", timed, `
		A believe t=1 until=10
		A crash t=2
		A restart t=3
		A believe t=4 until=10
		B believe t=5 until=15
	`, "B believes at #5 in its lease, and so does A since #4, until 10000000000 (orders/7)"},
	{"exclusive-belief", "the note's owner believes, whatever process notes it", timed, `
		X believe t=1 owner=A until=10
		X believe t=5 owner=B until=15
	`, "B believes at #2 in its lease, and so does A since #1, until 10000000000 (orders/7)"},
	{"exclusive-belief", "the same client renews", timed, `
		A believe t=1 token=1 lease=a owner=A until=10
		A believe t=5 token=1 lease=a owner=A until=15
	`, ""},
}
