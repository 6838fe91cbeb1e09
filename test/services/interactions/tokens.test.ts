// Goal: a token names its interaction, and no other text does.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createInteractionTokens } from '../../../services/interactions/tokens.ts';

const tokens = createInteractionTokens('secret');
const subject = { id: '1574520440439701504', ownerId: '1574520378552745984' };

describe('tokens of interactions', () => {
  test('name the interaction and its owner', () => {
    expect(tokens.read(tokens.of(subject))).toEqual(subject);
  });

  test('are refused when any character is changed, added or missing', () => {
    const token = tokens.of(subject);
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === 'A' ? 'B' : 'A';
      expect(tokens.read(token.slice(0, at) + other + token.slice(at + 1))).toBeNull();
    }
    for (const text of [`${token}x`, `${token}=`, token.slice(0, -1), `${token}\n`, ''])
      expect(tokens.read(text)).toBeNull();
  });

  test('are refused under another secret', () => {
    expect(createInteractionTokens('other').read(tokens.of(subject))).toBeNull();
  });

  test('are no text of an attacker, whatever it decodes to', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (text) => {
        expect(tokens.read(text)).toBeNull();
        expect(tokens.read(Buffer.from(text).toString('base64url'))).toBeNull();
      }),
    );
  });
});
