// Goal: a misspelt option is reported, with the one that was meant.
import { expect, test } from 'vitest';
import { checkNames } from '../../config/names.ts';

test('rejects an unknown name with the nearest known one, and ignores a name without a value', () => {
  const known = ['config', 'clock'];
  expect(() => checkNames({ config: {}, clok: undefined }, known, 'createEngine')).not.toThrow();
  expect(() => checkNames({ clok: 1 }, known, 'createEngine')).toThrow(
    'clok is not an option of createEngine. Did you mean clock?',
  );
  expect(() => checkNames({ elsewhere: 1 }, known, 'createEngine')).toThrow('Options are config, clock.');
});
