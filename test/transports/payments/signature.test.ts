// Goal: only Stripe's own messages are heeded, each within minutes of its sending.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isSigned } from '../../../transports/payments/signature.ts';
import { createStripe, noticeOf } from '../../../transports/payments/stripe.ts';
import { signatureOf } from '../../support/stripe.ts';

const SECRET = 'whsec_test_secret';
const NOW_MS = 1_700_000_000_000;
const BODY = '{"id":"evt_1","object":"event"}';
const check = (header: string, { body = BODY, nowMs = NOW_MS } = {}) =>
  isSigned(Buffer.from(body), header, { secret: SECRET, nowMs });

describe('a signature', () => {
  test('is accepted when Stripe’s own library made it', () => {
    // Made by `stripe.webhooks.generateTestHeaderString` of stripe 23.1.0 for this body, secret and time.
    const header = 't=1700000000,v1=0c8670ed117751cc551a20e35839447075c42800ea3cf3e8a2fbda99cd1e6edd';
    expect(check(header)).toBe(true);
  });

  test.each([
    ['of another secret', signatureOf(BODY, 'whsec_other', NOW_MS)],
    ['of another body', signatureOf(`${BODY} `, SECRET, NOW_MS)],
    ['six minutes old', signatureOf(BODY, SECRET, NOW_MS - 360_000)],
    ['six minutes ahead', signatureOf(BODY, SECRET, NOW_MS + 360_000)],
    ['without a time', signatureOf(BODY, SECRET, NOW_MS).replace(/t=\d+,/, '')],
    ['with two times', `t=1,${signatureOf(BODY, SECRET, NOW_MS)}`],
    ['of an older scheme', signatureOf(BODY, SECRET, NOW_MS).replace('v1=', 'v0=')],
    ['without an end', `${signatureOf(BODY, SECRET, NOW_MS)},${'v1=0,'.repeat(1_000)}`],
    ['that is empty', ''],
  ])('%s is refused', (_, header) => {
    expect(check(header)).toBe(false);
  });

  test('is accepted among those of older secrets while a secret is rotated', () => {
    const [time, good] = signatureOf(BODY, SECRET, NOW_MS).split(',');
    const [, old] = signatureOf(BODY, 'whsec_old', NOW_MS).split(',');
    expect(check(`${time},${old},${good}`)).toBe(true);
  });

  test('is refused with any one byte of the body changed', () => {
    const header = signatureOf(BODY, SECRET, NOW_MS);
    fc.assert(
      fc.property(fc.nat(BODY.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
        const bytes = Buffer.from(BODY);
        bytes[at] = (bytes[at] ?? 0) ^ mask;
        expect(isSigned(bytes, header, { secret: SECRET, nowMs: NOW_MS })).toBe(false);
      }),
    );
  });

  test('is refused without an error when it is random text', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        expect(check(header)).toBe(false);
      }),
    );
  });
});

describe('an event', () => {
  const metadata = { guildhall_order: '123', guildhall_application: '456' };

  test('names the subscription of an invoice', () => {
    const details = { metadata, subscription: 'sub_1' };
    const object = { id: 'in_1', parent: { subscription_details: details } };
    expect(noticeOf({ type: 'invoice.paid', data: { object } })).toEqual({
      ...{ applicationId: '456', orderId: '123', about: 'billing', id: 'sub_1' },
    });
  });

  test.each([
    ['of another kind', { type: 'payout.paid', data: { object: { id: 'po_1', metadata } } }],
    [
      'of what another system has made',
      { type: 'charge.refunded', data: { object: { id: 'ch_1', metadata: {} } } },
    ],
    [
      'named like a property of every object',
      { type: 'constructor', data: { object: { id: 'x', metadata } } },
    ],
  ])('%s is not heeded', (_, event) => {
    expect(noticeOf(event)).toBeNull();
  });

  test('is read without an error whatever its shape', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (object) => {
        expect(() => noticeOf({ type: 'invoice.paid', data: { object } })).not.toThrow();
        expect(() => noticeOf(object)).not.toThrow();
      }),
    );
  });
});

describe('a subscription at Stripe', () => {
  const [START, END] = [1_700_000_000, 1_702_592_000];
  const billing = (changes: object) =>
    createStripe({
      publicUrl: () => 'https://chat.test',
      call: async () => ({
        ...{ id: 'sub_1', status: 'active', cancel_at_period_end: false, cancel_at: null, ended_at: null },
        ...{ metadata: { guildhall_sku: '7' }, latest_invoice: { id: 'in_1', status: 'paid' } },
        items: { data: [{ current_period_start: START, current_period_end: END }] },
        ...changes,
      }),
    }).billing('sub_1');

  test.each([
    ['with a paid invoice', {}, 'running', END],
    [
      'with an invoice that is not paid yet',
      { latest_invoice: { id: 'in_1', status: 'open' } },
      'running',
      START,
    ],
    ['with a failed payment', { status: 'past_due' }, 'running', START],
    ['cancelled at its end', { cancel_at_period_end: true }, 'ending', END],
    ['cancelled before its end', { cancel_at: END - 60 }, 'ending', END - 60],
    ['to be cancelled later', { cancel_at: END + 60 }, 'running', END],
    ['ended', { status: 'canceled', ended_at: END }, 'over', END],
  ])('is paid according to its invoice: %s', async (_, changes, state, paidUntil) => {
    expect(await billing(changes)).toMatchObject({
      state,
      paidUntilMs: paidUntil * 1_000,
      periodEndMs: END * 1_000,
    });
  });

  test('is refused without our mark, or with malformed times', async () => {
    await expect(billing({ metadata: {} })).rejects.toThrow('not one of ours');
    await expect(billing({ items: { data: [{ current_period_start: -1 }] } })).rejects.toThrow('malformed');
  });
});
