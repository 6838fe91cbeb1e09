import { describe, expect, test } from 'vitest';
import { type Node, parse, type Source, visit } from '../support/source.ts';
import { budgetObjections, type Counts } from './budget.ts';

/** More is two things in one. */
const FIELDS_MAX = 12;
const METHODS_MAX = 20;
/** How far a listed class may shrink before its number has to follow. */
const SLACK = 3;

/** Classes with more fields, by room and name. The numbers only shrink. */
const FIELDS: Counts = {
  'actors AggregateShell': 15,
  'actors Calls': 18,
  'actors GatewaySessionActor': 13,
  'actors GatewaySessions': 17,
  'actors Journal': 15,
  'actors RemoteSession': 13,
  'bench Fleet': 17,
  'bench FrameParser': 14,
  'bench GatewayConnection': 13,
  'media Delivery': 17,
  'media Forwarder': 17,
  'media Lane': 21,
  'media Member': 28,
  'media SupervisedLane': 21,
  'sdk BrowserAudio': 14,
  'sdk Call': 31,
  'sdk Calls': 19,
  'sdk NodeCallMedia': 14,
  'sdk VoiceSession': 14,
  'transports BodyStream': 18,
  'transports EtcdDirectory': 17,
  'transports GatewaySocket': 18,
  'transports Peer': 17,
};
/** Classes with more methods, accessors and private ones included. The numbers only shrink. */
const METHODS: Counts = {
  'actors AggregateShell': 30,
  'actors CallActor': 29,
  'actors Calls': 32,
  'actors GatewaySessionActor': 36,
  'actors GatewaySessions': 33,
  'actors GuildShell': 24,
  'actors Journal': 28,
  'actors LobbyShell': 23,
  'media Delivery': 33,
  'media Forwarder': 35,
  'sdk Accounts': 25,
  'sdk BrowserCallMedia': 26,
  'sdk Call': 50,
  'sdk Calls': 39,
  'sdk NodeCallMedia': 27,
  'sdk People': 30,
  'transports EtcdDirectory': 31,
  'transports GatewaySocket': 31,
  'transports VoiceSocket': 26,
};

interface Measured {
  readonly name: string;
  readonly fields: number;
  readonly methods: number;
}

function classesOf(sources: readonly Source[]): Measured[] {
  const found: Measured[] = [];
  for (const { path, program } of sources) {
    visit(program, (node) => {
      if (node.type !== 'ClassDeclaration' && node.type !== 'ClassExpression') return;
      const members = (node.body as Node).body as Node[];
      const count = (type: string, isCounted: (member: Node) => boolean): number =>
        members.filter((member) => member.type === type && isCounted(member)).length;
      found.push({
        name: `${path.split('/')[0]} ${(node.id as Node | null)?.name ?? 'anonymous'}`,
        fields: count('PropertyDefinition', (member) => member.static !== true),
        methods: count('MethodDefinition', ({ kind }) => kind !== 'constructor'),
      });
    });
  }
  return found;
}

/** Sizes above the bound, the largest for each name. */
function beyond(classes: readonly Measured[], of: 'fields' | 'methods', max: number): Counts {
  const large = classes.filter((each) => each[of] > max).toSorted((a, b) => a[of] - b[of]);
  return Object.fromEntries(large.map((each) => [each.name, each[of]]));
}

/** Objections to classes over the bound, and to entries of the list that are within it by now. */
function sizeObjections(counts: Counts, listed: Counts, max: number, what: string): string[] {
  const stale = Object.keys(listed).filter((name) => counts[name] === undefined);
  const budgets = Object.fromEntries(Object.keys(counts).map((name) => [name, listed[name] ?? max]));
  const advice = `split the class, which has too many ${what}`;
  return [
    ...budgetObjections(counts, budgets, advice, SLACK),
    ...stale.map((name) => `${name}: has at most ${max} ${what} by now: remove it from the list`),
  ];
}

/** No class has too many fields or methods; `sources` are without tests. */
export function classRules(sources: readonly Source[]): void {
  describe('classes', () => {
    const classes = classesOf(sources);

    test(`have at most ${FIELDS_MAX} fields, or are listed with their number`, () => {
      const counts = beyond(classes, 'fields', FIELDS_MAX);
      expect(sizeObjections(counts, FIELDS, FIELDS_MAX, 'fields')).toEqual([]);
    });

    test(`have at most ${METHODS_MAX} methods, or are listed with their number`, () => {
      const counts = beyond(classes, 'methods', METHODS_MAX);
      expect(sizeObjections(counts, METHODS, METHODS_MAX, 'methods')).toEqual([]);
    });

    test('are measured without static fields and constructors, and with private members', () => {
      const text =
        'class A { static s = 1; a = 1; #b = 2; constructor() {} m() {} get g() { return 1; } #p() {} }';
      expect(classesOf([parse('actors/a.ts', text)])).toEqual([{ name: 'actors A', fields: 2, methods: 3 }]);
    });

    test('leave the list when they are small enough', () => {
      expect(sizeObjections({ 'a A': 30 }, { 'a A': 30 }, 12, 'fields')).toEqual([]);
      expect(sizeObjections({}, { 'a A': 30 }, 12, 'fields')).toEqual([
        'a A: has at most 12 fields by now: remove it from the list',
      ]);
      expect(sizeObjections({ 'a A': 31, 'a B': 13 }, { 'a A': 30 }, 12, 'fields')).toHaveLength(2);
    });
  });
}
