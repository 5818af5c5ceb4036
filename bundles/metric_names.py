"""What other platforms call the metrics that are here."""

import re
from difflib import get_close_matches
from typing import Final

# By the plain word: lower case, letters and digits alone.
NAMES: Final = {
    **dict.fromkeys(("accuracy", "acc", "accuracyscore", "classificationaccuracy"), "accuracy"),
    **dict.fromkeys(("errorrate", "error", "misclassificationrate"), "error_rate"),
    **dict.fromkeys(
        ("balancedaccuracy", "bac", "bacc", "balancedaccuracyscore"), "balanced_accuracy"
    ),
    **dict.fromkeys(("auc", "rocauc", "auroc", "rocaucscore", "areaunderroc"), "roc_auc"),
    **dict.fromkeys(("averageprecision", "prauc", "auprc", "ap"), "average_precision"),
    **dict.fromkeys(("gini", "normalizedgini"), "gini"),
    **dict.fromkeys(("f1", "f1score", "fscore"), "f1"),
    **dict.fromkeys(("f1macro", "macrof1", "macrof1score", "f1scoremacro"), "f1_macro"),
    **dict.fromkeys(("f1micro", "microf1", "f1scoremicro"), "f1_micro"),
    **dict.fromkeys(("f1weighted", "weightedf1", "f1scoreweighted"), "f1_weighted"),
    **dict.fromkeys(("precision", "precisionscore"), "precision"),
    **dict.fromkeys(("recall", "recallscore", "sensitivity", "tpr"), "recall"),
    **dict.fromkeys(("mcc", "matthewscorrcoef", "matthewscorrelation"), "mcc"),
    **dict.fromkeys(("kappa", "cohenkappa", "cohenskappa"), "kappa"),
    **dict.fromkeys(("qwk", "quadraticweightedkappa", "quadratickappa"), "quadratic_kappa"),
    **dict.fromkeys(("logloss", "crossentropy", "binarycrossentropy"), "log_loss"),
    **dict.fromkeys(("brier", "brierscore"), "brier"),
    **dict.fromkeys(("mae", "meanabsoluteerror"), "mae"),
    **dict.fromkeys(("mse", "meansquarederror"), "mse"),
    **dict.fromkeys(("rmse", "rootmeansquarederror"), "rmse"),
    **dict.fromkeys(("rmsle", "rootmeansquaredlogarithmicerror"), "rmsle"),
    **dict.fromkeys(("mape", "meanabsolutepercentageerror"), "mape"),
    **dict.fromkeys(("smape", "symmetricmeanabsolutepercentageerror"), "smape"),
    **dict.fromkeys(("medae", "medianabsoluteerror"), "median_absolute_error"),
    **dict.fromkeys(("r2", "r2score", "rsquared", "coefficientofdetermination"), "r2"),
    **dict.fromkeys(("pearson", "pearsonr", "correlation", "pearsoncorrelation"), "pearson"),
    **dict.fromkeys(("spearman", "spearmanr", "spearmancorrelation"), "spearman"),
    **dict.fromkeys(("cindex", "concordance", "concordanceindex"), "concordance"),
}
_SETS: Final = {
    *("public", "private", "test", "train", "valid", "validation", "dev", "final", "hidden"),
}
# Of two classes there is one figure, of more there is a mean over them.
_OF_MORE: Final = {"f1": "f1_macro", "precision": "precision_macro", "recall": "recall_macro"}
_KINDS: Final = {
    "probability": ("roc_auc", "average_precision", "gini", "log_loss", "brier"),
    "number": (
        *("mae", "mse", "rmse", "rmsle", "mape", "smape", "median_absolute_error", "r2"),
        *("pearson", "spearman", "concordance"),
    ),
}


def find_metric(*names: str) -> str:
    """Return the metric that one of the names stands for; empty where none does.

    What is in brackets, and words that name a set of rows, tell nothing of the metric.
    """
    words = (
        re.findall(r"[a-z0-9]+", re.sub(r"\(.*?\)|\[.*?\]", " ", name.casefold().replace("²", "2")))
        for name in names
    )
    plain = ("".join(word for word in each if word not in _SETS) for each in words)
    return next((NAMES[each] for each in plain if each in NAMES), "")


def kind_for(metric: str) -> str:
    """Return what kind of column the metric reads."""
    return next((kind for kind, metrics in _KINDS.items() if metric in metrics), "label")


def for_classes(metric: str, count: int) -> str:
    """Return the metric, or its mean over classes where there are more than two."""
    return _OF_MORE.get(metric, metric) if count > 2 else metric


def similar(name: str) -> list[str]:
    """Return metrics whose names look alike."""
    plain = re.sub(r"[^a-z0-9]", "", name.casefold())
    return list(dict.fromkeys(NAMES[each] for each in get_close_matches(plain, NAMES, 3, 0.5)))
