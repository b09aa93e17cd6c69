"""What of scikit-learn's own tests of its metrics is not run on our answers, each with the reason."""

from __future__ import annotations

# Files of tests of metrics that are not run, with the reason.
FILES_LEFT_OUT = {
    "test_common.py": "it is run over scikit-learn's own list of its functions, most of which take arguments and kinds "
    "of input (several labels to a case, regression, arrays of other libraries) that have no counterpart here; what it "
    "says of those that have (symmetry, order of rows, weights, names of classes) are laws in tests/laws and tests/api",
    "test_dist_metrics.py": "distances between rows",
    "test_pairwise.py": "distances between rows",
    "test_pairwise_distances_reduction.py": "distances between rows",
    "test_regression.py": "regression",
    "test_score_objects.py": "how scikit-learn makes scorers, not what they measure",
}


# What is not run, by the reason.
_NAMES_BY_REASON = {
    "several labels to a case": """
        test_multilabel_accuracy_score_subset_accuracy test_precision_refcall_f1_score_multilabel_unordered_labels
        test_multilabel_zero_one_loss_subset test_multilabel_jaccard_score test_precision_recall_f1_score_multilabel_1
        test_precision_recall_f1_score_multilabel_2 test_average_precision_score_multilabel_pos_label_errors
        test_precision_recall_f_extra_labels test_average_precision_score_non_binary_class test_multiclass_jaccard_score
        test_jaccard_score_zero_division_set_value test_jaccard_score_validation
        test_precision_recall_f1_score_with_an_empty_prediction test_precision_recall_f1_no_labels
        test_precision_recall_f1_no_labels_average_none test_prf_no_warnings_if_zero_division_set test_recall_warnings
        test_precision_warnings test_fscore_warnings
    """,
    "it asks, among others, for scikit-learn's words of an error; ours are two sentences, or there is no error": """
        test_likelihood_ratios_errors test_cohen_kappa_score_error_wrong_label test_confusion_matrix_error
        test_d2_log_loss_score_raises test_d2_brier_score_raises test_roc_auc_score_multiclass_labels_error
        test_roc_auc_score_multiclass_error test_confusion_matrix_at_thresholds_multiclass_error
        test_average_precision_score_binary_pos_label_errors test_average_precision_score_multiclass_pos_label_errors
        test_multiclass_ranking_metrics_raise_for_incorrect_shape_of_y_score test_top_k_accuracy_score_error
        test_likelihood_ratios_wrong_dict_replace_undefined_by test_prf_average_binary_data_non_binary
        test_confusion_matrix_at_thresholds_implicit_bytes_pos_label
    """,
    "it asks for scikit-learn's warnings; here an undefined value is nan with a reason": """
        test_likelihood_ratios_warnings test_cohen_kappa_zero_division_warning test_zero_division_nan_warning
        test_jaccard_score_zero_division_warning test_precision_recall_f1_no_labels_check_warnings test_prf_warnings
        test_log_loss_not_probabilities_warning test_log_loss_warnings test_brier_score_loss_warnings
        test_d2_brier_score_warning_on_less_than_two_samples test_top_k_accuracy_score_warning
        test_precision_recall_f_unused_pos_label test_confusion_matrix_single_label
        test_precision_recall_f1_no_labels_average_none_warn test_balanced_accuracy_score_unseen
        test_roc_curve_one_label test_roc_curve_toydata test_auc_score_non_binary_class
        test_precision_recall_curve_toydata
    """,
    "some of the classes that occur are left out of the table": """
        test_precision_recall_f_ignored_labels test_cohen_kappa_undefined
    """,
    "it asks how scikit-learn is written: types of numbers, arrays of other libraries, points left out of a curve": """
        test_confusion_matrix_dtype test_confusion_matrix_array_api test_roc_curve_drop_intermediate
        test_precision_recall_curve_drop_intermediate test_det_curve_drop_intermediate
    """,
    "a beta of 0, which is precision, is refused": "test_precision_recall_f_binary_single_class",
    "it asks for numbers where there is no value, such as 1 for a ratio without one": """
        test_likelihood_ratios_replace_undefined_by_worst
    """,
    "one column of scores has no order of classes": "test_top_k_accuracy_score_binary",
    "it asks nothing that we answer: losses of margins, rankings of documents, reports as text, private parts": """
        test_classification_report_dictionary_output test_classification_report_zero_division_warning
        test_classification_report_labels_subset_superset test_multilabel_confusion_matrix_binary
        test_multilabel_confusion_matrix_multiclass test_multilabel_confusion_matrix_multilabel
        test_multilabel_confusion_matrix_errors test_classification_report_multiclass
        test_classification_report_multiclass_balanced test_classification_report_multiclass_with_label_detection
        test_classification_report_multiclass_with_digits test_classification_report_multiclass_with_string_label
        test_classification_report_multiclass_with_unicode_label
        test_classification_report_multiclass_with_long_string_label
        test_classification_report_labels_target_names_unequal_length
        test_classification_report_no_labels_target_names_unequal_length test_multilabel_classification_report
        test_multilabel_hamming_loss test__check_targets test__check_targets_raises_on_empty_inputs
        test__check_targets_multiclass_with_both_y_true_and_y_pred_binary test__check_targets_sparse_inputs
        test_hinge_loss_binary test_hinge_loss_multiclass test_hinge_loss_multiclass_missing_labels_with_labels_none
        test_hinge_loss_multiclass_no_consistent_pred_decision_shape test_hinge_loss_multiclass_with_missing_labels
        test_hinge_loss_multiclass_missing_labels_only_two_unq_in_y_true test_hinge_loss_multiclass_invariance_lists
        test_classification_metric_division_by_zero_nan_validation test_auc test_auc_errors
        test_sort_inputs_and_compute_classification_thresholds_input_validation
        test_sort_inputs_and_compute_classification_thresholds_zero_weights
        test_sort_inputs_and_compute_classification_thresholds_sorting test_det_curve_bad_input test_label_ranking_avp
        test_lrap_error_raised test_alternative_lrap_implementation test_lrap_sample_weighting_zero_labels
        test_coverage_error test_coverage_tie_handling test_coverage_1d_error_message test_label_ranking_loss
        test_label_ranking_loss_sparse test_ranking_appropriate_input_shape test_ranking_loss_ties_handling
        test_dcg_score test_dcg_ties test_ndcg_ignore_ties_with_k test_ndcg_negative_ndarray_error test_ndcg_invariant
        test_ndcg_toy_examples test_ndcg_error_single_document test_ndcg_score
        test_label_ranking_avg_precision_score_should_allow_csr_matrix_for_y_true_input
        test_metric_at_thresholds_sample_weight_error test_confusion_matrix_at_thresholds_positional_args_deprecation
    """,
}
LEFT_OUT = {reason: tuple(names.split()) for reason, names in _NAMES_BY_REASON.items()}


# Of these all is run but what is inside `with pytest.raises` and `with pytest.warns`: the words there are not ours.
_PARTED = """
    test_brier_score_loss_invalid_inputs test_log_loss test_multiclass_ovo_roc_auc_toydata
    test_average_binary_jaccard_score test_log_loss_y_pred_deprecation test_d2_log_loss_score_y_pred_deprecation
    test_brier_score_loss_binary test_confusion_matrix_at_thresholds_implicit_pos_label
"""
PARTED = frozenset(_PARTED.split())
