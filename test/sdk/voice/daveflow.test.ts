// Goal: a member answers every DAVE message as the published clients do, asks to be let in again when it cannot follow,
// and never sends in the clear what must be encrypted.
import { randomBytes } from 'node:crypto';
import { DAVESession } from '@snazzah/davey';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SILENCE_FRAME, VOICE_OP } from '../../../protocol/voice.ts';
import { DaveFlow, type DaveGroup, type DaveStatus } from '../../../sdk/voice/daveflow.ts';

const ME = '158049329150427136';
const OTHER = '158049329150427137';

/** A group that records its calls, and answers as the test sets. */
class ScriptedGroup implements DaveGroup {
  readonly asked: string[] = [];
  ready = false;
  epoch: bigint | null = null;
  voicePrivacyCode = '';
  broken = false;
  reinit(version: number): void {
    this.asked.push(`reinit ${version}`);
  }
  reset(): void {
    this.asked.push('reset');
  }
  setExternalSender(bytes: Uint8Array): void {
    this.asked.push(`sender ${bytes.length}`);
  }
  getSerializedKeyPackage(): Uint8Array {
    return Uint8Array.of(7, 7);
  }
  processProposals(operation: number, _: Uint8Array, known: string[]) {
    this.asked.push(`proposals ${operation} ${known.length}`);
    if (this.broken) throw new Error('broken');
    return { commit: Uint8Array.of(1), welcome: Uint8Array.of(2, 3) };
  }
  processWelcome(): void {
    if (this.broken) throw new Error('broken');
    this.ready = true;
  }
  processCommit(): void {
    this.processWelcome();
  }
  setPassthroughMode(on: boolean, expirySec: number): void {
    this.asked.push(`passthrough ${on} ${expirySec}`);
  }
  canPassthrough(): boolean {
    return true;
  }
  encryptOpus(frame: Uint8Array): Uint8Array {
    return Uint8Array.of(...frame, 0xfa, 0xfa);
  }
  decrypt(_user: string, _media: number, frame: Uint8Array): Uint8Array {
    if (this.broken) throw new Error('broken');
    return frame.subarray(0, -2);
  }
  getUserIds(): string[] {
    return [ME];
  }
}

function member() {
  const group = new ScriptedGroup();
  const sent: string[] = [];
  const statuses: DaveStatus[] = [];
  const flow = new DaveFlow({
    userId: ME,
    channelId: '1',
    newGroup: () => group,
    send: (op, d) => sent.push(`${op} ${JSON.stringify(d)}`),
    sendBinary: (op, payload) => sent.push(`${op} [${payload}]`),
    changed: (status) => statuses.push(status),
  });
  return { flow, group, sent, statuses };
}

/** In a group since transition 5. */
function settled() {
  const made = member();
  made.flow.begin(1);
  made.flow.binary(VOICE_OP.DAVE_MLS_WELCOME, Uint8Array.of(0, 5, 1));
  made.flow.json(VOICE_OP.DAVE_EXECUTE_TRANSITION, { transition_id: 5 });
  made.sent.length = 0;
  made.group.asked.length = 0;
  return made;
}

const FRAME = Uint8Array.of(1, 2, 3, 4);

describe('a DAVE member', () => {
  test('begins with a key package, answers proposals with a commit, and a commit with being ready', () => {
    const { flow, group, sent } = member();
    flow.begin(1);
    flow.joined([OTHER]);
    flow.binary(VOICE_OP.DAVE_MLS_EXTERNAL_SENDER, new Uint8Array(9));
    flow.binary(VOICE_OP.DAVE_MLS_PROPOSALS, Uint8Array.of(0, 4, 4));
    flow.binary(VOICE_OP.DAVE_MLS_ANNOUNCE_COMMIT_TRANSITION, Uint8Array.of(1, 2, 9));
    expect(group.asked).toEqual(['sender 9', 'proposals 0 2']);
    expect(sent).toEqual(['26 [7,7]', '28 [1,2,3]', '23 {"transition_id":258}']);
  });

  test('is not ready for transition 0, which has been executed by its coming', () => {
    const { flow, sent } = member();
    flow.begin(1);
    flow.binary(VOICE_OP.DAVE_MLS_WELCOME, Uint8Array.of(0, 0, 1));
    expect(sent).toEqual(['26 [7,7]']);
  });

  test('sends and plays frames as they are when the call has no DAVE', () => {
    const { flow, sent, statuses } = member();
    flow.begin(0);
    expect(flow.encrypt(FRAME)).toBe(FRAME);
    expect(flow.decrypt(OTHER, FRAME)).toBe(FRAME);
    expect(sent).toEqual([]);
    expect(statuses.at(-1)).toMatchObject({ version: 0, ready: false, privacyCode: '' });
  });

  test('encrypts and decrypts nothing but silence frames until its group is ready', () => {
    const { flow } = member();
    flow.begin(1);
    expect(flow.encrypt(FRAME)).toBeNull();
    expect(flow.decrypt(OTHER, FRAME)).toBeNull();
    expect(flow.encrypt(SILENCE_FRAME)).toBe(SILENCE_FRAME);
    expect(flow.decrypt(OTHER, SILENCE_FRAME)).toBe(SILENCE_FRAME);
  });

  test('downgrades to version 0 and upgrades again by transitions', () => {
    const { flow, group, sent } = settled();
    expect(flow.encrypt(FRAME)).toEqual(Uint8Array.of(...FRAME, 0xfa, 0xfa));
    flow.json(VOICE_OP.DAVE_PREPARE_TRANSITION, { transition_id: 6, protocol_version: 0 });
    expect(flow.encrypt(FRAME)).toHaveLength(6);
    flow.json(VOICE_OP.DAVE_EXECUTE_TRANSITION, { transition_id: 6 });
    expect(flow.encrypt(FRAME)).toBe(FRAME);
    flow.json(VOICE_OP.DAVE_PREPARE_EPOCH, { epoch: 1, protocol_version: 1 });
    expect(group.asked).toEqual(['passthrough true 24', 'reinit 1']);
    expect(sent).toEqual(['23 {"transition_id":6}', '26 [7,7]']);
  });

  test('creates a new group for epoch 1, and keeps its group for any other epoch', () => {
    const { flow, group } = settled();
    flow.json(VOICE_OP.DAVE_PREPARE_EPOCH, { epoch: 2, protocol_version: 1 });
    expect(group.asked).toEqual([]);
    flow.json(VOICE_OP.DAVE_PREPARE_EPOCH, { epoch: 1, protocol_version: 1 });
    expect(group.asked).toEqual(['reinit 1']);
  });

  test('requests to be added again, once, when it cannot process a commit', () => {
    const { flow, group, sent } = settled();
    group.broken = true;
    flow.binary(VOICE_OP.DAVE_MLS_ANNOUNCE_COMMIT_TRANSITION, Uint8Array.of(0, 6, 1));
    flow.binary(VOICE_OP.DAVE_MLS_ANNOUNCE_COMMIT_TRANSITION, Uint8Array.of(0, 7, 1));
    expect(sent).toEqual(['31 {"transition_id":6}', '26 [7,7]']);
  });

  test('requests to be added again when it cannot decrypt one member for long, though it decrypts others', () => {
    const { flow, group, sent } = settled();
    for (let frame = 0; frame < 36; frame++) {
      group.broken = true;
      expect(flow.decrypt(OTHER, FRAME)).toBeNull();
      group.broken = false;
      expect(flow.decrypt('3', FRAME)).not.toBeNull();
    }
    expect(sent).toEqual([]);
    group.broken = true;
    flow.decrypt(OTHER, FRAME);
    expect(sent).toEqual(['31 {"transition_id":5}', '26 [7,7]']);
  });

  test('reads an object that JavaScript cannot convert as no number', () => {
    const { flow, sent } = settled();
    const d = JSON.parse(
      '{"transition_id":{"valueOf":1,"toString":1},"protocol_version":1,"epoch":{"valueOf":1,"toString":1}}',
    );
    for (const op of [
      VOICE_OP.DAVE_PREPARE_TRANSITION,
      VOICE_OP.DAVE_EXECUTE_TRANSITION,
      VOICE_OP.DAVE_PREPARE_EPOCH,
    ])
      flow.json(op, d);
    expect(sent).toEqual([]);
  });

  test('is thrown off by no message, with the real library beneath', () => {
    const op = fc.constantFrom(21, 22, 23, 24, 25, 27, 29, 30, 31);
    const d = fc.record({
      transition_id: fc.anything(),
      protocol_version: fc.constantFrom(0, 1),
      epoch: fc.nat(3),
    });
    const message = fc.oneof(
      fc.tuple(op, d).map(
        ([code, body]) =>
          (flow: DaveFlow) =>
            flow.json(code, body),
      ),
      fc.tuple(op, fc.uint8Array({ maxLength: 60 })).map(
        ([code, bytes]) =>
          (flow: DaveFlow) =>
            flow.binary(code, Buffer.from(bytes)),
      ),
      fc
        .uint8Array({ maxLength: 60 })
        .map((bytes) => (flow: DaveFlow) => flow.decrypt(OTHER, Buffer.from(bytes))),
      fc.uint8Array({ maxLength: 60 }).map((bytes) => (flow: DaveFlow) => flow.encrypt(Buffer.from(bytes))),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 20 }), (messages) => {
        const quiet = () => {};
        const newGroup = (version: number, userId: string, channelId: string) =>
          new DAVESession(version, userId, channelId) as unknown as DaveGroup;
        const flow = new DaveFlow({
          userId: ME,
          channelId: '1',
          newGroup,
          send: quiet,
          sendBinary: quiet,
          changed: quiet,
        });
        flow.begin(1);
        for (const send of messages) send(flow);
        expect(flow.encrypt(randomBytes(20))).toSatisfy(
          (frame) => frame === null || frame instanceof Uint8Array,
        );
      }),
      { numRuns: 60 },
    );
  });
});
