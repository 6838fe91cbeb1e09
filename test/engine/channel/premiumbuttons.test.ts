// Goal: a premium button names what the application sells, wherever in a message it is.
import { describe, expect, it } from 'vitest';
import { hasPremiumButton } from '../../../engine/channel/premiumbuttons.ts';
import { build, leavesOf } from '../../support/builtcomponents.ts';

const SKU = '1174109589340160598';
const premium = (more: object = {}) => ({ type: 2, style: 6, sku_id: SKU, ...more });
const row = (...components: object[]) => ({ type: 1, components });
const section = (accessory: object) => ({ type: 9, components: [{ type: 10, content: 'x' }], accessory });

describe('a premium button', () => {
  it.each<[string, object]>([
    ['in a row', row({ type: 2, style: 1, custom_id: 'x', label: 'x' }, premium())],
    ['beside a text', section(premium())],
    ['in a row of a container', { type: 17, components: [row(premium())] }],
    ['beside a text of a container', { type: 17, components: [section(premium())] }],
    ['with its style as text', row(premium({ style: '6' }))],
  ])('is found %s, and names a SKU that is for sale', (_, component) => {
    expect(hasPremiumButton([{ type: 10, content: 'x' }, component])).toBe(true);
    const standalone = (component as { type: number }).type !== 1;
    expect(build([component], standalone, true, ['1', SKU]).ok).toBe(true);
    const refused = build([component], standalone, true, ['1']);
    const leaves = refused.ok ? [] : leavesOf(refused.refusal);
    expect(leaves).toMatchObject([expect.stringMatching(/sku_id: BUTTON_COMPONENT_INVALID_SKU$/)]);
  });

  it.each<[string, unknown]>([
    ['no list', { 0: premium() }],
    ['other buttons', [row({ type: 2, style: 5, url: 'https://example.com', label: 'x' })]],
    ['no components', [null, 6, 'x', { components: 'x', accessory: 6 }]],
    ['deeper than components nest', [row(row(row(premium())))]],
  ])('is not found in %s', (_, raw) => {
    expect(hasPremiumButton(raw)).toBe(false);
  });

  it('is not looked for at any depth that a request may have', () => {
    let deep: object = premium();
    for (let depth = 0; depth < 50_000; depth += 1) deep = row(deep);
    expect(hasPremiumButton([deep])).toBe(false);
  });
});
