// What the scripts of the web pages must keep to. Run it as `npm run lint -- FOLDER…` from here,
// or as .ci/run does.
import js from "@eslint/js";
import globals from "globals";

const MARKUP = "Text of others never becomes markup: use textContent, append or replaceChildren.";
const BANNED = ["innerHTML", "outerHTML", "insertAdjacentHTML", "createContextualFragment",
  "setHTMLUnsafe"];

const RULES = {
  ...js.configs.recommended.rules,
  "no-unused-vars": ["error", { args: "after-used", caughtErrors: "all" }],
  eqeqeq: ["error", "always"],
  "no-eval": "error",
  "no-implied-eval": "error",
  "no-new-func": "error",
  "no-script-url": "error",
  "no-var": "error",
  "prefer-const": ["error", { destructuring: "all" }],
  "no-restricted-properties": ["error",
    ...BANNED.map((property) => ({ property, message: MARKUP })),
    { object: "document", property: "write", message: MARKUP },
    { object: "document", property: "writeln", message: MARKUP }],
};

const PAGES = ["reports", "apps/leaderboard", "apps/labelling"];

export default [
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  {
    files: ["t2ibench/apps/explorer/static/**/*.js"],
    languageOptions: { sourceType: "module", ecmaVersion: 2023, globals: globals.browser },
    rules: RULES,
  },
  {
    // Inlined into a page, or loaded without type="module".
    files: PAGES.map((name) => `t2ibench/${name}/static/**/*.js`),
    languageOptions: { sourceType: "script", ecmaVersion: 2023, globals: globals.browser },
    rules: RULES,
  },
  {
    files: ["tools/eslint/*.js"],
    languageOptions: { sourceType: "module", ecmaVersion: 2023 },
    rules: RULES,
  },
];
