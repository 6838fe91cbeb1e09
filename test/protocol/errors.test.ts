/** Goal: every error code the platform publishes has a name here, and every name an answer a client can read. */
import { describe, expect, it } from 'vitest';
import { ERRORS, type ErrorName } from '../../protocol/errors.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';

/** The published codes, restated as numbers. Three of them have two published names, which makes 246. */
const PUBLISHED =
  '0 10001 10002 10003 10004 10005 10006 10007 10008 10009 10010 10011 10012 10013 10014 10015 10016 10020 10021 10026 10027 10028 10029 10030 10031 10032 10033 10036 10038 10049 10050 10057 10059 10060 10061 10062 10063 10065 10066 10067 10068 10069 10070 10071 10087 10097 10124 10129 20001 20002 20009 20012 20015 20016 20017 20018 20022 20024 20028 20029 20031 20035 30001 30002 30003 30004 30005 30007 30008 30010 30011 30013 30015 30016 30018 30019 30030 30031 30032 30033 30034 30035 30037 30038 30039 30040 30042 30045 30046 30047 30048 30052 30056 30058 30060 30061 40001 40002 40003 40004 40005 40006 40007 40009 40012 40018 40019 40032 40033 40041 40043 40058 40060 40061 40062 40066 40067 40074 40094 40333 50001 50002 50003 50004 50005 50006 50007 50008 50009 50010 50011 50012 50013 50014 50015 50016 50017 50019 50020 50021 50024 50025 50026 50027 50028 50033 50034 50035 50036 50039 50041 50045 50046 50054 50055 50057 50067 50068 50070 50073 50074 50080 50081 50083 50084 50085 50086 50091 50095 50097 50101 50109 50110 50123 50124 50131 50132 50138 50144 50145 50146 50151 50159 50160 50161 50162 50163 50167 50173 50178 50192 50278 50600 60003 80004 90001 90002 110000 110001 130000 150006 160002 160004 160005 160006 160007 160009 160010 160014 170001 170002 170003 170004 170005 170006 170007 180000 180002 200000 200001 220001 220002 220003 220004 240000 340015 350000 350001 400001 500000 520000 520001 520002 520003 520004 520006 530000 530001 530002 530003 530004 530006 530007';
/** Codes that only the documentation of account merging names, and that of people's sign-in. */
const DOCUMENTED = [
  60008, 60010, 50229, 530008, 530009, 530010, 530014, 530016, 530017, 530020, 530023, 530027,
];
/** This server's own, outside the platform's ranges. */
const OURS = Array.from({ length: 13 }, (_, index) => 900_001 + index);

const names = Object.keys(ERRORS) as ErrorName[];

describe('ERRORS', () => {
  it('has every published code and no invented one', () => {
    const published = PUBLISHED.split(' ').map(Number);
    expect(published).toHaveLength(243);
    const codes = new Set(names.map((name) => ERRORS[name].code));
    expect([...codes].sort((a, b) => a - b)).toEqual(
      [...published, ...DOCUMENTED, ...OURS].sort((a, b) => a - b),
    );
  });

  it('gives a code of its own to one name only, but for the two bounds of a resized asset', () => {
    const own = names.filter((name) => ERRORS[name].code !== 0);
    const twice = own.filter((name) =>
      own.some((other) => other !== name && ERRORS[other].code === ERRORS[name].code),
    );
    expect(twice).toEqual(['ASSET_RESIZE_ABOVE_MAXIMUM', 'ASSET_RESIZE_BELOW_MINIMUM']);
  });

  it('returns an error status, and a text', () => {
    for (const name of names) {
      const { status, message } = ERRORS[name];
      if (name !== 'INDEX_NOT_READY') expect(status, name).toBeGreaterThanOrEqual(400);
      expect(status, name).toBeLessThan(600);
      expect(message, name).not.toBe('');
    }
  });

  it('returns 404 for unknown objects', () => {
    for (const name of names) {
      const { status, code } = ERRORS[name];
      if (code >= 10_000 && code < 20_000) expect(status, name).toBe(404);
    }
  });

  it.each([
    ['UNAUTHORIZED', 401, 0, '401: Unauthorized'],
    ['NOT_FOUND', 404, 0, '404: Not Found'],
    ['METHOD_NOT_ALLOWED', 405, 0, '405: Method Not Allowed'],
    ['NOT_BUILT', 404, 0, '404: Not Found'],
    ['PAYLOAD_TOO_LARGE', 413, 40005, 'Request entity too large'],
    ['MISSING_ACCESS', 403, 50001, 'Missing Access'],
    ['MISSING_PERMISSIONS', 403, 50013, 'Missing Permissions'],
    ['INVALID_FORM_BODY', 400, 50035, 'Invalid Form Body'],
  ] as const)('%s is %i with code %i', (name, status, code, message) => {
    expect(refusal(name)).toEqual({ status, code, message });
  });
});

describe('invalidField', () => {
  it('nests the error under the path of the field', () => {
    expect(
      invalidField(['embeds', 0, 'title'], 'BASE_TYPE_REQUIRED', 'This field is required').errors,
    ).toEqual({
      embeds: {
        0: { title: { _errors: [{ code: 'BASE_TYPE_REQUIRED', message: 'This field is required' }] } },
      },
    });
    expect(invalidField([], 'X', 'y').errors).toEqual({ _errors: [{ code: 'X', message: 'y' }] });
  });
});
