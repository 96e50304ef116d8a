// SPDX-License-Identifier: Apache-2.0
// Names in dataset.h5, version 1. docs/formats.md describes the file for its readers.
#pragma once

#include <cstdint>

namespace trireme::dataset_format {

inline constexpr std::int64_t kVersion = 1;

// Attributes of the root group.
inline constexpr char kFormat[] = "trireme_format";  ///< text: "dataset"
inline constexpr char kFormatValue[] = "dataset";
inline constexpr char kVersionName[] = "version";         ///< int64
inline constexpr char kEncoding[] = "encoding";           ///< text: "raw" or "jpeg"
inline constexpr char kSampleShape[] = "sample_shape";    ///< int64 [3]: H,W,C; jpeg: 0,0,C
inline constexpr char kNumSamples[] = "num_samples";      ///< int64
inline constexpr char kNumClasses[] = "num_classes";      ///< int64
inline constexpr char kMetadataHash[] = "metadata_hash";  ///< uint64, data/metadata_hash.h; optional

// Datasets.
inline constexpr char kImages[] = "images";             ///< raw: uint8 [N,H,W,C]
inline constexpr char kBlob[] = "blob";                 ///< jpeg: uint8 [bytes], pictures back to back
inline constexpr char kOffsets[] = "offsets";           ///< jpeg: uint64 [N+1]
inline constexpr char kLabels[] = "labels";             ///< int32 [N]
inline constexpr char kClassNames[] = "class_names";    ///< UTF-8 [num_classes]
inline constexpr char kSourcePaths[] = "source_paths";  ///< UTF-8 [N], optional
inline constexpr char kSampleHash[] = "sample_hash";    ///< uint64 [N], XXH3 of the stored bytes, optional
inline constexpr char kChannelMean[] = "channel_mean";  ///< float64 [C], in 0..1
inline constexpr char kChannelStd[] = "channel_std";    ///< float64 [C], in 0..1

// Values of kEncoding.
inline constexpr char kRaw[] = "raw";
inline constexpr char kJpeg[] = "jpeg";

}  // namespace trireme::dataset_format
