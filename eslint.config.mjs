// What eslint looks for in Forklore's scripts: mistakes, not looks. `cargo xtask test` runs it with the packages below `.tools`.
// Each folder knows the globals of the place where it runs, and no others.

import { createRequire } from 'node:module';

const tools = createRequire(new URL('.tools/package.json', import.meta.url));
const js = tools('@eslint/js');
const globals = tools('globals');

const TAVERN = { SillyTavern: 'readonly', Forklore: 'readonly', toastr: 'readonly', $: 'readonly' };
// Of the extensions that tests bring along.
const OTHERS = { likeAutoRecap: 'readonly', copiesBooks: 'readonly' };

export default [
    { ignores: ['.tools/**', 'target/**'] },
    js.configs.recommended,
    {
        languageOptions: { ecmaVersion: 2024, sourceType: 'module' },
        linterOptions: { reportUnusedDisableDirectives: 'error' },
        rules: {
            'array-callback-return': 'error',
            curly: 'error',
            'default-case-last': 'error',
            eqeqeq: 'error',
            // Who needs more has two things in one file.
            'max-lines': ['error', 260],
            'no-constructor-return': 'error',
            'no-duplicate-imports': 'error',
            'no-eval': 'error',
            'no-implied-eval': 'error',
            'no-new-func': 'error',
            'no-self-compare': 'error',
            'no-template-curly-in-string': 'error',
            'no-throw-literal': 'error',
            'no-unreachable-loop': 'error',
            'no-unused-expressions': 'error',
            'no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrors: 'all' }],
            'no-use-before-define': ['error', { functions: false, classes: false, variables: false }],
            'no-useless-concat': 'error',
            'no-var': 'error',
            'object-shorthand': 'error',
            'prefer-const': 'error',
            'prefer-promise-reject-errors': 'error',
        },
    },
    { files: ['crates/web/assets/**'], languageOptions: { globals: globals.browser } },
    { files: ['sillytavern/extension/**', 'sillytavern/tests/extensions/**'], languageOptions: { globals: { ...globals.browser, ...TAVERN } } },
    { files: ['sillytavern/plugin/**', 'npm/**', 'eslint.config.mjs'], languageOptions: { globals: globals.node } },
    // Tests run in node, and send functions into pages.
    { files: ['sillytavern/tests/**', 'crates/web/tests/**'], languageOptions: { globals: { ...globals.node, ...globals.browser, ...TAVERN, ...OTHERS } } },
];
