import type { Row } from './row.ts';

/** Mutations of actors/ on which no promise depends. */
export const EQUIVALENT_IN_ACTORS: readonly Row[] = [
  [
    ...(['actors/guild/guild.shell.ts', '!guild || !ownership', '(!guild) && (!ownership)'] as const),
    'The writer of snapshots ends with the guild, and only owners have one.',
  ],
  [
    ...(['actors/runtime/stream.ts', 'this.#head <= 64 || this.#head <= this.size'] as const),
    ...([
      '(this.#head <= 64) && (this.#head <= this.size)',
      'The evicted part is sliced off more often.',
    ] as const),
  ],
  ['actors/cluster/routing/router.ts', '1000', '1000 + 1', 'A delay between attempts.'],
  [
    ...(['actors/runtime/registry.ts', 'unusedMs >= intervalMs', '(unusedMs) > (intervalMs)'] as const),
    'An aggregate rests one sweep later.',
  ],
  [
    ...(['actors/session/journal.ts', '0', '0 + 1'] as const),
    ...(['The batch is discarded.', 'this.#batch.finish(0, 0)'] as const),
  ],
  [
    ...(['actors/cluster/delivery/remote.ts', '0', '0 + 1'] as const),
    ...(['The first session of a shard creates the outbox too.', '?.peerEpoch ?? 0'] as const),
  ],
  [
    ...(['actors/cluster/membership/partitionmoves.ts', 'holdings.forget(partitions)', 'undefined'] as const),
    'The view that follows the release has them forgotten.',
  ],
  ['actors/cluster/delivery/guildrequests.ts', '2', '2 + 1', 'The growth of a delay between attempts.'],
  [
    ...(['actors/runtime/registry.ts', 'this.#admits !== null', '(this.#admits) === (null)'] as const),
    'The order in which aggregates are loaded.',
  ],
  [
    ...(['actors/cluster/membership/leasewatch.ts', 'this.#untilMs === Number.POSITIVE_INFINITY'] as const),
    ...(['(this.#untilMs) !== (Number.POSITIVE_INFINITY)', 'The lease is read again at each use.'] as const),
  ],
  ['actors/cluster/routing/router.ts', '255', '255 + 1', 'A part of a random delay.'],
  [
    ...(['actors/session/crashedjournals.ts', '!names.has(name)', 'names.has(name)'] as const),
    'A journal that is no longer cached is read again.',
  ],
  [
    ...(['actors/session/crashedjournals.ts', 'this.#journals.delete(nameOf(folder))'] as const),
    ...(['undefined', 'The next cleaning forgets a journal that was deleted.'] as const),
  ],
  [
    ...(['actors/session/crashedjournals.ts', 'taken.add(markOf(mark))', 'undefined'] as const),
    'The store lets nobody take a session twice.',
  ],
  [
    ...(['actors/session/journal.ts', 'oldest === undefined || !present(this.#files).drop()'] as const),
    '(oldest === undefined) && (!present(this.#files).drop())',
    'A segment whose end is known can be dropped.',
  ],
  ['actors/runtime/stream.ts', '1', '1 + 1', 'The size of a payload is approximate.', 'weigh('],
  [
    ...(['actors/cluster/membership/ownership.ts', '1', '1 + 1'] as const),
    'Whether there was a membership before; how many there were does not matter.',
  ],
  ['actors/cluster/delivery/guildrequests.ts', '1', '1 + 1', 'A number that no other request has.'],
  [
    ...(['actors/cluster/delivery/presences.ts', 'concerned.length > 0'] as const),
    ...(['(concerned.length) >= (0)', 'A presence is published to no guild.'] as const),
  ],
  [
    ...(['actors/cluster/delivery/presences.ts', 'presences.size > 0', '(presences.size) >= (0)'] as const),
    'A user without presences is published nowhere.',
  ],
  [
    ...(['actors/cluster/delivery/guildsubscriptions.ts', 'here.length > 0'] as const),
    ...(['(here.length) >= (0)', 'A wait at whose end nothing is done.'] as const),
  ],
  [
    ...(['actors/cluster/delivery/guildsubscriptions.ts', 'n > stream.n', '(n) >= (stream.n)'] as const),
    'The same number once more.',
  ],
  [
    ...(['actors/cluster/delivery/guildsubscriptions.ts', 'this.#requests.cancelRetry(stream)'] as const),
    ...(['undefined', 'A retry without waiting sessions requests nothing.'] as const),
  ],
  [
    ...([
      'actors/cluster/delivery/deliverycursors.ts',
      'n > (last.get(streamId)?.n ?? 0)',
      '(n) >= ((last.get(streamId)?.n ?? 0))',
    ] as const),
    'A cursor with the same number is kept a little longer.',
  ],
  ...(["ownership.self?.instance ?? ''", "this.#ports.ownership.self?.instance ?? ''"] as const).map(
    (from) =>
      [
        ...(['actors/cluster/delivery/localsessions.ts', from, from.slice(0, -6)] as const),
        'A shard of a cluster knows itself.',
      ] as const,
  ),
  ...(['actors/cluster/delivery/localsessions.ts', 'engine/session/journal.index.ts'] as const).flatMap(
    (file) =>
      (
        [
          ['index < handles.length', '(index) <= (handles.length)', 'index < handles.length'],
          ['handles[index] ?? 0', 'handles[index]', 'handles[index]'],
          ['0', '0 + 1', 'handles[index]'],
        ] as const
      ).map(([from, to, on]) => {
        const why = 'Each index has a handle, and no session has the handle 0.';
        return [file, from, to, why, on] as const;
      }),
  ),
  [
    ...(['engine/session/journal.index.ts', 'this.#cursors.ended(session.handle)', 'undefined'] as const),
    'Nothing shows the cursors of a lost session, whose next name or end removes them.',
  ],
  [
    ...(['actors/session/journal.ts', 'files.bytes > bytesMax', '(files.bytes) >= (bytesMax)'] as const),
    'A journal of exactly the bound is shortened.',
  ],
  [
    ...(['actors/cluster/routing/ownertells.ts', 'this.#held.length > 0'] as const),
    ...(['(this.#held.length) >= (0)', 'A retry of no message.'] as const),
  ],
  [
    ...(['actors/cluster/delivery/commitandnotify.ts', '0', '0 + 1'] as const),
    ...(['The numbers of a stream begin far above.', 'last.byUser.get(userId)'] as const),
  ],
  ['actors/session/journal.ts', '0', '0 + 1', 'Set before it is read.', 'bytes: 0,'],
  ['actors/session/journal.ts', '0', '0 + 1', 'Set when the first segment ends.', 'needed: 0,'],
  [
    'actors/session/journalreplica.ts',
    'bytes + chunk.bytes.length > REQUEST_BYTES_MAX',
    '(bytes + chunk.bytes.length) >= (REQUEST_BYTES_MAX)',
    'A request is sent one chunk earlier.',
  ],
  ['actors/session/journal.ts', '20', '20 + 1', 'A bound of mebibytes.', 'BYTES_MAX ='],
  [
    ...(['actors/runtime/faults.ts', 'known?.omitted ?? 0', 'known?.omitted'] as const),
    'A place whose time is over is known.',
  ],
  ['actors/session/persistence.ts', '64', '64 + 1', 'One more at once.', 'MIGRATIONS_MAX'],
  ['actors/runtime/snowflakes.ts', '0', '0 + 1', 'The clock is far beyond.', 'let lastMs'],
  [
    ...(['actors/cluster/routing/statesync.ts', 'true', 'false'] as const),
    ...(['The second flush of a tick finds nothing.', 'this.#flushing'] as const),
  ],
  [
    ...(['actors/guild/guild.subscription.ts', 'stale.length > 0', '(stale.length) >= (0)'] as const),
    'A dispatch without recipients.',
  ],
  ['actors/cluster/membership/membership.ts', '2_000', '2_000 + 1', 'A delay between attempts.'],
  ['actors/session/rejoin.ts', '0', '0 + 1', 'Each id has a number.', 'seqs[at]'],
  [
    ...(['actors/guild/guild.subscription.ts', '0', '0 + 1'] as const),
    ...(['The filter of a single dispatch decides the same.', 'POSITIVE_INFINITY, 0'] as const),
  ],
  [
    ...(['actors/guild/guild.subscription.ts', 'stream?.last ?? 0', 'stream?.last'] as const),
    ...(['Without a stream no session is given a position.', 'upTo ='] as const),
  ],
  [
    ...(['actors/guild/guild.reader.ts', 'keys.length > 0', '(keys.length) >= (0)'] as const),
    'A read of no rows is never started.',
  ],
  [
    ...([
      'actors/guild/guild.shell.ts',
      'this.epoch?.number(dispatch, nowMs) ?? 0',
      'this.epoch?.number(dispatch, nowMs)',
    ] as const),
    'Without an epoch no dispatch has a number.',
  ],
  [
    ...(['actors/session/journalreplica.ts', '2', '2 + 1'] as const),
    ...(['A delay between attempts.', '2 * RETRY_MS'] as const),
  ],
  [
    ...(['actors/session/journalreplica.ts', '0', '0 + 1'] as const),
    ...(['A batch has more than one byte.', 'REQUEST_BYTES_MAX)) break'] as const),
  ],
  [
    ...(['actors/session/journal.ts', 'false', 'true'] as const),
    ...(['A segment whose end is known can be dropped.', '.drop()) return'] as const),
  ],
  [
    ...([
      'actors/session/sessions.ts',
      'this.journal?.cursors.of(session.handle) ?? []',
      'this.journal?.cursors.of(session.handle)',
    ] as const),
    'A shard that can hand over sessions has a journal.',
  ],
  ['actors/session/sessions.ts', '1', '1 + 1', 'A number that no other session has.', '#handles +='],
  ['actors/session/archive.ts', '1', '1 + 1', 'A number that no other claim has.', '#claims +='],
  [
    'actors/cluster/delivery/sessions.ts',
    "ownership.self?.instance ?? ''",
    'ownership.self?.instance',
    'A shard of a cluster knows itself.',
  ],
  [
    'actors/cluster/delivery/userchannel.ts',
    'nowMs() >= untilMs',
    '(nowMs()) > (untilMs)',
    'A request waits a millisecond longer.',
  ],
  ['actors/cluster/delivery/userchannel.ts', '10_000', '10_000 + 1', 'A request waits a millisecond longer.'],
  [
    'actors/cluster/delivery/deliverycursors.ts',
    '0',
    '0 + 1',
    'The numbers of a stream begin far above.',
    'last.get(streamId)',
  ],
  ['actors/cluster/routing/router.ts', '0', '0 + 1', 'A number that no other call has.', '#calls = 0'],
  [
    'actors/runtime/registry.ts',
    'this.#actor.start()',
    'undefined',
    'The work for which an aggregate is made starts its actor too.',
  ],
  [
    'actors/runtime/aggregate.ts',
    'this.epoch?.recording(decided, delivered) ?? NOT_OWNED',
    'this.epoch?.recording(decided, delivered)',
    'A commit without an owner records nothing by default.',
  ],
  [
    'actors/runtime/idleheap.ts',
    'old?.space_used_size ?? 0',
    'old?.space_used_size',
    'Every heap has an old space.',
  ],
  ['actors/runtime/idleheap.ts', '0', '0 + 1', 'Every heap has an old space.', 'old?.'],
  [
    'actors/runtime/virtual.ts',
    '0',
    '0 + 1',
    'Work without end is given up one step earlier.',
    'left-- === 0',
  ],
  [
    'actors/runtime/virtual.ts',
    'a.order - b.order',
    '(a.order) + (b.order)',
    'Timers are listed in the order in which they were set, and the sort is stable.',
  ],
  [
    'actors/cluster/delivery/deliverycursors.ts',
    '2',
    '2 + 1',
    'A cursor is kept a millisecond longer.',
    'recordAgeMs * 2',
  ],
  [
    'actors/cluster/delivery/subscriptiontransition.ts',
    'n > client.n',
    '(n) >= (client.n)',
    'The same number once more.',
  ],
  ['actors/cluster/membership/membership.ts', '100', '100 + 1', 'A delay between attempts.'],
  [
    'actors/cluster/membership/membership.ts',
    'true',
    'false',
    'The first view of the directory, which follows at once, requests the next step too.',
    '    return true;',
  ],
  [
    'actors/guild/guild.shell.ts',
    'guild.voiceStates.size > 0',
    '(guild.voiceStates.size) >= (0)',
    'The check finds nobody, because members who come after the handover are subscribed.',
    'guild.presences.size',
  ],
  [
    'actors/guild/guild.shell.ts',
    '!guild || !ownership || !epoch',
    '(!guild || !ownership) && (!epoch)',
    'A guild that is handed over is loaded and has an owner and an epoch.',
    ') return;',
  ],
  [
    'actors/guild/guild.subscription.ts',
    'removals?.some((at) => at > (after ?? n) && at <= n) ?? false',
    'removals?.some((at) => at > (after ?? n) && at <= n)',
    'Undefined is false in a condition.',
  ],
  [
    'actors/runtime/cache.ts',
    'this.#stamps.get(key) ?? 0',
    'this.#stamps.get(key)',
    'Each entry has a stamp.',
  ],
  ['actors/runtime/cache.ts', '0', '0 + 1', 'Each entry has a stamp.', 'this.#stamps.get(key) ?? 0'],
  [
    'actors/runtime/cache.ts',
    'this.#stamps.clear()',
    'undefined',
    'No window is cleared, and the stamp of an absent entry is not read.',
  ],
  [
    'actors/session/session.shell.ts',
    '64',
    '64 + 1',
    'A round is a kibibyte larger.',
    'HYDRATION_ROUND_BYTES =',
  ],
  [
    'actors/cluster/membership/aggregateownership.ts',
    '16_384',
    '16_384 + 1',
    'One more of thousands of replies is kept.',
  ],
  ['actors/cluster/routing/statesync.ts', '2', '2 + 1', 'A delay between attempts.', '#retryMs * 2'],
  [
    'actors/cluster/routing/statesync.ts',
    'moved.length > 0',
    '(moved.length) >= (0)',
    'What waits is grouped again by the same owners.',
  ],
  ['actors/runtime/ownerepoch.ts', '0', '0 + 1', 'Set before it is read.', '#shown = 0'],
  ['actors/runtime/registry.ts', '8', '8 + 1', 'A sweep is a millisecond later.', 'idleMs / 8'],
  [
    'actors/runtime/registry.ts',
    'false',
    'true',
    'No work comes so far: nothing is loaded yet, or the actor has ended.',
    'loading: false',
  ],
  ['actors/session/journal.ts', '2', '2 + 1', 'A buffer of a byte more is kept.', '.shrink('],
  ['actors/session/sessions.ts', 'false', 'true', 'Nothing reads whether a client is away.', 'afk: false'],
];
