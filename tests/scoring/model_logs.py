"""Logs of language models in the documented shapes, made up.

    python -m tests.scoring.model_logs

writes the files in tests/scoring/written_logs anew. The shapes are those of lm-evaluation-harness
0.4.9 (`EvaluationTracker.save_results_samples`) and of Inspect's log schema 2 (`EvalLog`, and the
archive that `EvalRecorder` writes).
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.scoring.packed import in_zip

FOLDER = Path(__file__).parent / "written_logs"
QUESTIONS = (
    ("capital-fr", "Which city is the capital of France?", ("Lyon", "Paris", "Nice", "Lille"), "B"),
    ("boil", "At how many degrees Celsius does water boil?", ("100", "90", "80", "70"), "A"),
    ("legs", "How many legs has a spider?", ("4", "6", "8", "10"), "C"),
    ("red", "Which planet is called the red one?", ("Venus", "Pluto", "Earth", "Mars"), "D"),
)
SAID = {
    1: ("The answer is (B).", "A", "Spiders are insects. The answer is B", "D) Mars"),
    2: ("B", "I think it is (A)", "Answer: C", "I don't know."),
}


def harness_sample(
    doc_id: int, resps: Sequence[Sequence[Any]], named: str = "none", **more: Any
) -> dict[str, Any]:
    """A sample as the harness writes it; `more` takes the place of its fields."""
    name, question, choices, target = QUESTIONS[doc_id % len(QUESTIONS)]
    digest = hashlib.sha256(question.encode()).hexdigest()
    return {
        "doc_id": doc_id,
        "doc": {"name": name, "question": question, "choices": list(choices), "answer": target},
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": f"Q: {question}\nA:", "arg_1": {"until": ["\n\n"]}}},
        "resps": resps,
        "filtered_resps": ["never looked at"],
        "filter": named,
        "metrics": ["exact_match"],
        "doc_hash": digest,
        "prompt_hash": digest,
        "target_hash": digest,
        "exact_match": 1.0,
        **more,
    }


def likelihoods(best: int) -> list[list[list[str]]]:
    """The responses of a multiple choice: of each choice its log-likelihood."""
    return [[[str(-1.5 if place == best else -9.25), str(place == best)]] for place in range(4)]


def harness(samples: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in samples)


def inspect_sample(name: int | str, epoch: int | str, said: str, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": said, "source": "generate"}
    output = {
        "model": "mockllm/model",
        "choices": [{"message": message, "stop_reason": "stop"}],
        "completion": said,
        "usage": {"input_tokens": 30, "output_tokens": 9, "total_tokens": 39},
    }
    return {
        "id": name,
        "epoch": epoch,
        "input": "A question",
        "choices": ["4", "6", "8", "10"],
        "target": "never looked at",
        "messages": [{"role": "user", "content": "A question"}, message],
        "output": output,
        "scores": {"choice": {"value": "C", "answer": "A"}},
        "metadata": {},
        "store": {},
        "events": [{"event": "model", "output": output}],
        "attachments": {},
        **more,
    }


def inspect_header(**more: Any) -> dict[str, Any]:
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": "facts", "model": "mockllm/model", "config": {"epochs": 2}},
        "plan": {"name": "plan", "steps": [{"solver": "multiple_choice"}]},
        "results": {"total_samples": 8, "completed_samples": 8, "scores": []},
        "stats": {"started_at": "2026-11-01T10:00:00+00:00"},
        **more,
    }


def inspect_json(samples: Sequence[dict[str, Any]], **more: Any) -> bytes:
    return json.dumps({**inspect_header(**more), "samples": list(samples)}, indent=2).encode()


def inspect_eval(samples: Sequence[dict[str, Any]], **more: Any) -> bytes:
    start = {name: inspect_header(**more)[name] for name in ("version", "eval", "plan")}
    members = {"_journal/start.json": start, "_journal/summaries/1.json": []}
    members |= {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in samples}
    members |= {"summaries.json": [], "reductions.json": [], "header.json": inspect_header(**more)}
    return in_zip({name: json.dumps(each, indent=2).encode() for name, each in members.items()})


def generated(run: int) -> list[dict[str, Any]]:
    """Answers in words, with a line for each of two filters."""
    return [
        harness_sample(doc_id, [[said]], named)
        for named in ("strict-match", "flexible-extract")
        for doc_id, said in enumerate(SAID[run])
    ]


def epochs() -> list[dict[str, Any]]:
    return [
        inspect_sample(name, epoch, SAID[epoch][place])
        for epoch in (1, 2)
        for place, (name, *_) in enumerate(QUESTIONS)
    ]


def files() -> dict[str, bytes]:
    chosen = [harness_sample(place, likelihoods(best)) for place, best in enumerate((1, 0, 1, 3))]
    return {
        "samples_facts_2026-11-01T10-00-00.jsonl": harness(generated(1)),
        "samples_facts_mc_2026-11-01T10-00-00.jsonl": harness(chosen),
        "two_runs.zip": in_zip(
            {f"samples_facts_{run}.jsonl": harness(generated(run)) for run in SAID}
        ),
        "2026-11-01T10-00-00+00-00_facts.json": inspect_json(epochs()),
        "2026-11-01T10-00-00+00-00_facts.eval": inspect_eval(epochs()),
    }


if __name__ == "__main__":
    for name, content in files().items():
        (FOLDER / name).write_bytes(content)
