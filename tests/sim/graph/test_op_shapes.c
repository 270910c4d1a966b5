// SPDX-License-Identifier: GPL-3.0-or-later
/* Shapes, element types and small values that each op type infers from its inputs.
 * FLOPs, bytes and kernels that follow from them. */
#include "tests/sim/graph/kit.h"
#include "tests/support/survive.h"

struct shape_case {
    const char  *type;
    const char  *inputs; /* texts of kit.h with blanks between */
    const char  *expected;
    emp_op_attrs attrs;
};

/* clang-format off */
static const struct shape_case shape_cases[] = {
    /* element-wise */
    {"Sigmoid", "f[2,3]", "f[2,3]", {0}},
    {"Relu", "f?", "f?", {0}},
    {"Add", "f[4,1] f[3]", "f[4,3]", {0}},
    {"Add", "f[?,3] f[5,1]", "f[5,3]", {0}},
    {"Add", "f[?] f[1]", "f[?]", {0}},
    {"Add", "f? f[3]", "f?", {0}},
    {"Add", "i[2]={3,4} i[]={1}", "i[2]={4,5}", {0}},
    {"Sub", "i[2]={3,4} i[2]={1,1}", "i[2]={2,3}", {0}},
    {"Mul", "i[0]={} i[1]={2}", "i[0]={}", {0}},
    {"Mul", "f[1]={3} f[1]={2}", "f[1]", {0}},
    {"Mul", "l[]={9223372036854775807} l[]={2}", "l[]", {0}},
    {"FloorMod", "i[]={-1} i[]={4}", "i[]={3}", {0}},
    {"FloorMod", "i[]={1} i[]={0}", "i[]", {0}},
    {"FloorDiv", "i[2]={64,40} i[2]={1,40}", "i[2]={64,1}", {0}},
    {"Maximum", "i[2]={0,7} i[]={1}", "i[2]={1,7}", {0}},
    {"Minimum", "i[2]={0,7} i[]={1}", "i[2]={0,1}", {0}},
    {"Less", "f[3,1] f[4]", "b[3,4]", {0}},
    {"LogicalNot", "b[3]", "b[3]", {0}},
    {"Select", "b[3] f[3] f[3]", "f[3]", {0}},
    {"AddN", "f[?,2] f[3,?] f?", "f[3,2]", {0}},
    {"Cast", "f[2]={3,4}", "i[2]={3,4}", {.dtype = EMP_DTYPE_INT32}},
    {"SigmoidGrad", "f[2,3] f[2,3]", "f[2,3]", {0}},
    /* reductions and products */
    {"Sum", "f[64,128] i[1]={0}", "f[128]", {0}},
    {"Sum", "f[64,128] i[1]={-1}", "f[64,1]", {.keep_dims = true}},
    {"Sum", "f[64,128] i[0]={}", "f[64,128]", {0}},
    {"Sum", "f[64,128] i[?]", "f?", {0}},
    {"Mean", "f[8,4] i[?]", "f[?,?]", {.keep_dims = true}},
    {"Mean", "f[8,4] i[2]={0,1}", "f[]", {0}},
    {"Prod", "i[3]={2,3,4} i[1]={0}", "i[]={24}", {0}},
    {"Sum", "i[2]={2,3} i[1]={0}", "i[]={5}", {0}},
    {"All", "b[3] i[1]={0}", "b[]", {0}},
    {"ArgMax", "f[5,9] i[]={1}", "l[5]", {0}},
    {"L2Loss", "f[5,9]", "f[]", {0}},
    {"MatMul", "f[64,128] f[128,256]", "f[64,256]", {0}},
    {"MatMul", "f[128,64] f[256,128]", "f[64,256]", {.transpose_a = true, .transpose_b = true}},
    {"MatMul", "f? f[128,256]", "f[?,256]", {0}},
    {"BatchMatMul", "f[8,4,5] f[8,5,6]", "f[8,4,6]", {0}},
    {"BatchMatMul", "f[8,4,5] f[8,6,5]", "f[8,4,6]", {.transpose_b = true}},
    /* layers of any rank, channels first */
    {"Conv", "f[8,3,224,224] f[64,3,7,7]", "f[8,64,112,112]", {.strides = {2, 2}, .pads = {3, 3}, .pads_after = {3, 3}}},
    {"Conv", "f[8,64,56,56] f[64,1,3,3]", "f[8,64,52,52]", {.group = 64, .dilations = {2, 2}}},
    {"Conv", "f[2,4,10] f[6,4,3]", "f[2,6,8]", {0}},
    {"ConvGradInput", "f[8,64,112,112] f[64,3,7,7]", "f[8,3,224,224]", {.shape = {4, {8, 3, 224, 224}}, .has_shape = true}},
    {"MaxPoolNd", "f[8,64,112,112]", "f[8,64,56,56]", {.ksize = {3, 3}, .strides = {2, 2}, .pads = {1, 1}, .pads_after = {1, 1}}},
    {"MaxPoolNd", "f[8,4,6]", "f[8,4,3] l[8,4,3]", {.ksize = {2}, .strides = {2}, .count = 2}},
    {"LSTM", "f[10,2,4] f[1,12,4] f[1,12,3]", "f[10,1,2,3] f[1,2,3] f[1,2,3]", {.count = 3}},
    {"SelectV2", "b[3,1] f[4] f[]", "f[3,4]", {0}},
    {"BroadcastTo", "f[1,4] i[2]={3,4}", "f[3,4]", {0}},
    {"GatherElements", "f[9,4] l[2,4]", "f[2,4]", {0}},
    {"PartialSort", "f[4,100]", "f[4,5] l[4,5]", {.axis = -1, .count = 5}},
    {"QuantizeLinear", "f[4,8]", "u[4,8]", {.out_type = EMP_DTYPE_UINT8}},
    {"BatchMatMulV2", "f[8,1,4,5] f[2,5,6]", "f[8,2,4,6]", {0}},
    {"Einsum", "f[2,7,4,8] f[2,5,4,8]", "f[2,4,7,5]", {.equation = "BTNH,BSNH->BNTS"}},
    {"Einsum", "f[3,1,4,5] f[2,5,6]", "f[3,2,4,6]", {.equation = "...ij,...jk->...ik"}},
    {"Einsum", "f[?,3] f[3,4]", "f[?,4]", {.equation = "ab,bc->ac"}},
    {"Einsum", "f[2,3]", "f[3,2]", {.equation = "ab->ba"}},
    {"Einsum", "f[2,3] f[3,4]", "f?", {.equation = "abc,bc->ac"}},
    {"Einsum", "f[2,3] f[3,4]", "f?", {0}},
    {"FusedAdam", "&f[4] &f[4] &f[4] f[4]", "&f[4]", {0}},
    /* shapes as values */
    {"Shape", "f[64,128]", "i[2]={64,128}", {0}},
    {"Shape", "f[?,128]", "i[2]", {0}},
    {"Shape", "f?", "i[?]", {0}},
    {"Shape", "f[]", "i[0]={}", {0}},
    {"ShapeN", "f[2] f[3,4]", "i[1]={2} i[2]={3,4}", {0}},
    {"Rank", "f[?,3]", "i[]={2}", {0}},
    {"Size", "f[5,3]", "l[]={15}", {.out_type = EMP_DTYPE_INT64}},
    {"Reshape", "f[6,4] i[2]={-1,8}", "f[3,8]", {0}},
    {"Reshape", "f[6,4] i[2]={-1,-1}", "f[?,?]", {0}},
    {"Reshape", "f[6,4] i[3]", "f[?,?,?]", {0}},
    {"Reshape", "f? i[2]={-1,8}", "f[?,8]", {0}},
    {"Reshape", "i[2]={7,8} i[2]={1,2}", "i[1,2]={7,8}", {0}},
    {"ExpandDims", "f[2,3] i[]={1}", "f[2,1,3]", {0}},
    {"ExpandDims", "f[2,3] i[]={-1}", "f[2,3,1]", {0}},
    {"ExpandDims", "i[]={5} i[]={0}", "i[1]={5}", {0}},
    {"Squeeze", "f[2,1,3,1]", "f[2,3]", {0}},
    {"Squeeze", "f[2,1,3,1]", "f[2,1,3]", {.squeeze_dims = 1 << 3}},
    {"Squeeze", "f[?,1]", "f?", {0}},
    {"Fill", "i[2]={2,3} f[]", "f[2,3]", {0}},
    {"Fill", "i[1]={3} i[]={1}", "i[3]={1,1,1}", {0}},
    {"Range", "i[]={0} i[]={4} i[]={1}", "i[4]={0,1,2,3}", {0}},
    {"Range", "i[]={5} i[]={0} i[]={-2}", "i[3]={5,3,1}", {0}},
    {"Range", "i[]={0} i[] i[]={1}", "i[?]", {0}},
    {"BroadcastGradientArgs", "i[2]={64,128} i[2]={64,128}", "i[0]={} i[0]={}", {0}},
    {"BroadcastGradientArgs", "i[2]={64,128} i[0]={}", "i[0]={} i[2]={0,1}", {0}},
    {"BroadcastGradientArgs", "i[3]={8,1,5} i[2]={3,1}", "i[1]={1} i[2]={0,2}", {0}},
    {"BroadcastGradientArgs", "i[2]={1,4} i[1]={4}", "i[1]={0} i[1]={0}", {0}},
    {"BroadcastGradientArgs", "i[2] i[2]={64,128}", "i[?] i[?]", {0}},
    {"ConcatOffset", "i[]={1} i[2]={64,10} i[2]={64,20}", "i[2]={0,0} i[2]={0,10}", {0}},
    {"InvertPermutation", "i[3]={2,0,1}", "i[3]={1,2,0}", {0}},
    {"RandomUniform", "i[2]={3,4}", "f[3,4]", {.dtype = EMP_DTYPE_FLOAT}},
    /* movement */
    {"ConcatV2", "f[2,3] f[2,4] i[]={1}", "f[2,7]", {0}},
    {"ConcatV2", "f[2,3] f? i[]={1}", "f[2,?]", {0}},
    {"ConcatV2", "f[2,3] f[2,4] i[]", "f[?,?]", {0}},
    {"ConcatV2", "i[1]={2} i[2]={3,4} i[]={0}", "i[3]={2,3,4}", {0}},
    {"ConcatV2", "i[2,1]={1,2} i[2,2]={3,4,5,6} i[]={1}", "i[2,3]={1,3,4,2,5,6}", {0}},
    {"Concat", "i[]={0} f[2,3] f[5,3]", "f[7,3]", {0}},
    {"Pack", "f[2,3] f[2,3]", "f[2,2,3]", {.axis = 1}},
    {"Pack", "i[]={4} i[]={5}", "i[2]={4,5}", {0}},
    {"Pack", "i[2]={1,2} i[2]={3,4}", "i[2,2]={1,3,2,4}", {.axis = 1}},
    {"Unpack", "f[2,3]", "f[2] f[2] f[2]", {.axis = 1, .count = 3}},
    {"Unpack", "i[2]={4,5}", "i[]={4} i[]={5}", {.count = 2}},
    {"Split", "i[]={1} f[64,12]", "f[64,3] f[64,3] f[64,3] f[64,3]", {.count = 4}},
    {"SplitV", "f[64,12] i[2]={5,-1} i[]={1}", "f[64,5] f[64,7]", {.count = 2}},
    {"SplitV", "f[64,12] i[2] i[]={1}", "f[64,?] f[64,?]", {.count = 2}},
    {"Slice", "f[64,12] i[2]={0,3} i[2]={-1,4}", "f[64,4]", {0}},
    {"Slice", "f[64,12] i[2] i[2]={64,4}", "f[64,4]", {0}},
    {"Slice", "f? i[2] i[2]={64,4}", "f[64,4]", {0}},
    {"Slice", "i[3]={5,6,7} i[1]={1} i[1]={2}", "i[2]={6,7}", {0}},
    {"Slice", "i[2,3]={1,2,3,4,5,6} i[2]={0,1} i[2]={2,1}", "i[2,1]={2,5}", {0}},
    {"StridedSlice", "i[3]={5,6,7} i[1]={1} i[1]={2} i[1]={1}", "i[]={6}", {.shrink_axis_mask = 1}},
    {"StridedSlice", "i[3]={5,6,7} i[1]={-1} i[1]={0} i[1]={1}", "i[]={7}", {.shrink_axis_mask = 1}},
    {"StridedSlice", "i[3]={5,6,7} i[1]={0} i[1]={0} i[1]={-1}", "i[3]={7,6,5}", {.begin_mask = 1, .end_mask = 1}},
    {"StridedSlice", "f[64,12] i[2]={0,2} i[2]={0,9} i[2]={1,3}", "f[64,3]", {.begin_mask = 1, .end_mask = 1}},
    {"StridedSlice", "f[2,3,4] i[2]={0,1} i[2]={0,2} i[2]={1,1}", "f[2,3,1]", {.ellipsis_mask = 1}},
    {"StridedSlice", "f[5] i[2]={0,0} i[2]={0,5} i[2]={1,1}", "f[1,5]", {.new_axis_mask = 1}},
    {"StridedSlice", "f[64,12] i[1] i[1] i[1]={1}", "f[?,12]", {0}},
    {"StridedSliceGrad", "i[2]={64,12} i[1] i[1] i[1] f[4]", "f[64,12]", {0}},
    {"Pad", "f[2,3] i[2,2]={0,1,2,3}", "f[3,8]", {0}},
    {"Pad", "f[2,3] i[2,2]", "f[?,?]", {0}},
    {"Tile", "f[2,3] i[2]={4,1}", "f[8,3]", {0}},
    {"Transpose", "f[2,3,4] i[3]={2,0,1}", "f[4,2,3]", {0}},
    {"Gather", "f[1000,64] i[8,40]", "f[8,40,64]", {0}},
    {"GatherV2", "f[9,1000] i[8] i[]={1}", "f[9,8]", {0}},
    {"GatherV2", "f[32,1000,64] i[32,10] i[]={1}", "f[32,10,64]", {.batch_dims = 1}},
    {"GatherV2", "f[32,1000,64] i[32,10] i[]={1}", "f[32,10,64]", {.batch_dims = -1}},
    {"GatherV2", "f[2,3,9] i[2,3,4] i[]={2}", "f[2,3,4]", {.batch_dims = 2}},
    {"ScatterNd", "i[4,1] f[4,3] i[2]={9,3}", "f[9,3]", {0}},
    {"MatrixDiag", "f[2,3]", "f[2,3,3]", {0}},
    {"LinSpace", "f[] f[] i[]={7}", "f[7]", {0}},
    {"DepthToSpace", "f[1,10,10,12]", "f[1,20,20,3]", {.block = 2}},
    {"DepthToSpace", "f[?,12,10,10]", "f[?,3,20,20]", {.block = 2, .is_nchw = true}},
    {"SpaceToDepth", "f[8,26,26,64]", "f[8,13,13,256]", {.block = 2}}, /* YOLOv2's passthrough */
    {"GatherV2", "i[3]={4,12,64} i[2]={0,1} i[]={0}", "i[2]={4,12}", {0}},
    {"GatherV2", "i[3]={4,12,64} i[1]={3} i[]={0}", "i[1]", {0}},
    {"StatelessRandomGetKeyCounter", "i[2]", "k[1] k[2]", {0}},
    {"StatelessRandomUniformV2", "i[2]={3,4} l[1] l[2] i[]", "f[3,4]", {0}},
    {"IdentityN", "f[2,3] l[4]", "f[2,3] l[4]", {0}},
    {"GatherNd", "f[9,8,7] i[5,2]", "f[5,7]", {0}},
    {"OneHot", "i[32] i[]={1001} f[] f[]", "f[32,1001]", {0}},
    {"OneHot", "i[32,7] i[]={9} f[] f[]", "f[32,9,7]", {.axis = 1, .has_axis = true}},
    {"OneHot", "i[32,7] i[]={9} f[] f[]", "f[9,32,7]", {.axis = 0, .has_axis = true}},
    {"OneHot", "i[32,7] i[]={9} f[] f[]", "f[32,7,9]", {.axis = -1, .has_axis = true}},
    {"DynamicStitch", "i[4]={0,1,2,3} i[1]={1} i[4]={5,6,7,8} i[1]={1}", "i[4]={5,1,7,8}", {0}},
    {"DynamicStitch", "i[2] f[2,3]", "f[?,3]", {0}},
    {"ReverseV2", "f[2,3] i[1]", "f[2,3]", {0}},
    {"Unique", "i[2560]", "i[2560] i[2560]", {0}},
    {"Where", "b[3,4]", "l[?,2]", {0}},
    {"UnsortedSegmentSum", "f[2560,64] i[2560] i[]={99}", "f[99,64]", {0}},
    {"SegmentSum", "f[2560,64] i[2560]", "f[?,64]", {0}},
    {"SparseToDense", "i[?,2] i[2]={64,9} f[?] f[]", "f[64,9]", {0}},
    {"TopKV2", "f[5,100] i[]={3}", "f[5,3] i[5,3]", {0}},
    {"SpaceToBatchND", "f[2,4,6,3] i[2]={2,3} i[2,2]={0,0,0,0}", "f[12,2,2,3]", {0}},
    {"BatchToSpaceND", "f[12,2,2,3] i[2]={2,3} i[2,2]={0,0,0,1}", "f[2,4,5,3]", {0}},
    {"LogUniformCandidateSampler", "l[2560,1]", "l[8192] f[2560,1] f[8192]", {.num_sampled = 8192}},
    /* networks */
    {"Conv2D", "f[32,224,224,3] f[7,7,3,64]", "f[32,112,112,64]", {.padding_is_same = true, .strides = {1, 2, 2, 1}}},
    {"Conv2D", "f[32,299,299,3] f[3,3,3,32]", "f[32,149,149,32]", {.strides = {1, 2, 2, 1}}},
    {"Conv2D", "f[32,3,9,9] f[3,3,3,8]", "f[32,8,7,7]", {.is_nchw = true}},
    {"Conv2D", "f[?,9,9,3] f?", "f[?,?,?,?]", {0}},
    {"Conv2D", "f[1,56,56,64] f[3,3,64,64]", "f[1,56,56,64]", {.pads = {0, 1, 1, 0}, .pads_after = {0, 1, 1, 0}}},
    {"Conv2D", "f[1,224,224,3] f[7,7,3,64]", "f[1,112,112,64]", {.strides = {1, 2, 2, 1}, .pads = {0, 3, 3, 0}, .pads_after = {0, 3, 3, 0}}},
    {"Conv2D", "f[1,56,56,64] f[3,3,64,64]", "f[1,52,52,64]", {.dilations = {1, 2, 2, 1}}},
    {"Conv2D", "f[1,56,56,64] f[3,3,64,64]", "f[1,56,56,64]", {.dilations = {1, 2, 2, 1}, .padding_is_same = true}},
    {"Conv2D", "f[1,56,56,128] f[3,3,4,128]", "f[1,56,56,128]", {.padding_is_same = true}}, /* 32 groups */
    {"DepthwiseConv2dNative", "f[1,56,56,8] f[3,3,8,1]", "f[1,52,52,8]", {.dilations = {1, 2, 2, 1}}},
    {"MaxPool", "f[1,112,112,64]", "f[1,56,56,64]", {.ksize = {1, 3, 3, 1}, .strides = {1, 2, 2, 1}, .pads = {0, 1, 1, 0}, .pads_after = {0, 1, 1, 0}}},
    {"Conv2DBackpropInput", "i[4]={32,9,9,3} f[3,3,3,8] f[32,7,7,8]", "f[32,9,9,3]", {0}},
    {"Conv2DBackpropFilter", "f[32,9,9,3] i[4]={3,3,3,8} f[32,7,7,8]", "f[3,3,3,8]", {0}},
    {"DepthwiseConv2dNative", "f[32,9,9,4] f[3,3,4,2]", "f[32,7,7,8]", {0}},
    {"MaxPool", "f[32,112,112,64]", "f[32,56,56,64]", {.padding_is_same = true, .ksize = {1, 3, 3, 1}, .strides = {1, 2, 2, 1}}},
    {"AvgPoolGrad", "i[4]={32,8,8,5} f[32,1,1,5]", "f[32,8,8,5]", {0}},
    {"FusedBatchNorm", "f[32,7,7,64] f[64] f[64] f[0] f[0]", "f[32,7,7,64] f[64] f[64] f[64] f[64]", {0}},
    {"FusedBatchNormGrad", "f[32,7,7,64] f[32,7,7,64] f[64] f[64] f[64]", "f[32,7,7,64] f[64] f[64] f[0] f[0]", {0}},
    {"BiasAddGrad", "f[64,4096]", "f[4096]", {0}},
    {"BiasAddGrad", "f[32,8,7,7]", "f[8]", {.is_nchw = true}},
    {"Softmax", "f[64,40]", "f[64,40]", {0}},
    {"SoftmaxCrossEntropyWithLogits", "f[64,99] f[64,99]", "f[64] f[64,99]", {0}},
    {"SparseSoftmaxCrossEntropyWithLogits", "f[64,99] i[64]", "f[64] f[64,99]", {0}},
    {"ResizeBilinear", "f[2,5,5,3] i[2]={9,8}", "f[2,9,8,3]", {0}},
    {"ResizeBilinear", "h[2,5,5,3] i[2]={9,8}", "f[2,9,8,3]", {.dtype = EMP_DTYPE_HALF}},
    {"ResizeNearestNeighbor", "h[2,5,5,3] i[2]={9,8}", "h[2,9,8,3]", {.dtype = EMP_DTYPE_HALF}},
    /* state and control */
    {"Identity", "&f[3]", "f[3]", {0}},
    {"RefIdentity", "&f[3]", "&f[3]", {0}},
    {"Assign", "&f[3] f[3]", "&f[3]", {0}},
    {"AssignSub", "&f[3] f[3]", "&f[3]", {0}},
    {"ScatterAdd", "&f[9,3] i[2] f[2,3]", "&f[9,3]", {0}},
    {"Switch", "f[3] b[]", "f[3] f[3]", {0}},
    {"Merge", "f[3,4] f[5,4]", "f[?,4] i[]", {0}},
    {"Merge", "f[3,4] f[3,4]", "f[3,4] i[]", {0}},
    {"IsVariableInitialized", "&f[3]", "b[]", {0}},
    {"NoOp", "", "", {0}},
    {"NeverHeardOf", "f[3] f[4]", "f[3]", {0}},
};
/* clang-format on */

Test(op_shapes, follow_from_inputs_and_attributes)
{
    for (size_t i = 0; i < COUNT(shape_cases); i++) {
        const struct shape_case *c = &shape_cases[i];
        emp_graph_builder       *b = kit_begin();
        emp_port                 input[16];
        emp_op_id                op;
        emp_error                err = {0};
        char                     text[512];

        int        count = kit_inputs(b, c->inputs, input);
        emp_status st = emp_graph_builder_add(b, "op", c->type, &c->attrs, input, count,
                                              NULL, 0, &op, &err);
        cr_expect_eq(st, EMP_OK, "%s(%s): %s", c->type, c->inputs, err.msg);
        if (st == EMP_OK)
            cr_expect_str_eq(kit_outputs(b, op, text, sizeof text), c->expected,
                             "%s(%s) gave %s, want %s", c->type, c->inputs, text,
                             c->expected);
        emp_graph_builder_destroy(b);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static const struct shape_case misfits[] = {
    {"Add", "f[3] f[4]", "shapes [3] and [4]", {0}},
    {"MatMul", "f[2,3] f[4,5]", "[2,3] and [4,5]", {0}},
    {"MatMul", "f[2,3] f[3]", "[2,3] and [3]", {0}},
    {"MatMul", "f[2,3]", "1 inputs, needs 2", {0}},
    {"Reshape", "f[2,3] i[1]={7}", "[2,3] cannot be reshaped to [7]", {0}},
    {"ConcatV2", "f[2,3] f[4,3] i[]={1}", "[4,3] cannot be joined to [2,3]", {0}},
    {"Sum", "f[2,3] i[1]={2}", "an axis is outside the input's shape [2,3]", {0}},
    {"Split", "i[]={0} f[5]", "a size of 5 cannot be cut into 2", {.count = 2}},
    {"Slice", "f[5] i[1]={3} i[1]={4}", "dim 0: 4 elements from 3 on, of 5", {0}},
    {"Conv2D", "f[1,8,8,3] f[3,3,4,8]", "[1,8,8,3] has 3 channels", {0}},
    {"Conv2D", "f[8,8,3] f[3,3,4,8]", "[8,8,3] is no batch of images", {0}},
    {"DepthwiseConv2dNative", "f[1,8,8,8] f[3,3,4,1]", "[1,8,8,8] has 8 channels", {0}},
    {"GatherV2",
     "f[9,4] i[9,3] i[]={0}",
     "rows of a tensor of rank 2",
     {.batch_dims = 1}},
    {"OneHot",
     "i[32] i[]={9} f[] f[]",
     "axis 2 of indices of rank 1",
     {.axis = 2, .has_axis = true}},
    {"DepthToSpace", "f[8,8,3]", "[8,8,3], which needs rank 4", {.block = 2}},
    {"AddN", "f[3] f[4]", "input 1 is [4], the others are [3]", {0}},
    {"BroadcastGradientArgs", "i[1]={3} i[1]={4}", "sizes 3 and 4 in dim 0", {0}},
    {"CausalConvolution", "f[2,5,6] f[7,1,4]", "a convolution of [2,5,6] by", {0}},
    {"DeltaRule", "f[2,5,2,8] f[2,5,3,8] f[2,5,4,8] f[10,4] f[10,4]", "a scan of", {0}},
    {"StateSpaceScan",
     "f[2,5,3,8] f[2,5,3,8] f[2,5,4,8] f[10,4] f[4] f[4] f[4]",
     "a scan of",
     {0}},
    {"SelectKeys", "f[2,5,4,8] f[2,9,1,7]", "a choice of keys", {0}},
    {"SparseAttention",
     "f[2,7,8,4] f[2,9,3,4] f[2,9,3,4] i[2,7,1,2]",
     "attention of",
     {0}},
    {"GroupedLinear", "f[5,4,6] f[6,6]", "products in groups", {0}},
    {"Attention", "f[2,7,8,4] f[2,9,3,4] f[2,9,3,4]", "[2,9,3,4]", {0}},
    {"Attention", "f[2,7,8,4] f[2,9,2,5] f[2,9,2,5]", "[2,9,2,5]", {0}},
    {"Attention", "f[2,7,8] f[2,9,2,5] f[2,9,2,5]", "[2,7,8]", {0}},
    {"Attention", "f[2,7,8,4] f[2,9,2,4] f[2,8,2,4]", "[2,8,2,4]", {0}},
    {"Linear", "f[2,7] f[9,8] f[9]", "[9,8]", {0}},
    {"ExpertsMatMul", "f[2,7] f[4,9,8] i[1,2]", "[4,9,8]", {.transpose_b = true}},
};

Test(op_shapes, that_do_not_fit_are_refused_with_their_op)
{
    for (size_t i = 0; i < COUNT(misfits); i++) {
        const struct shape_case *c = &misfits[i];
        emp_graph_builder       *b = kit_begin();
        emp_port                 input[16];
        emp_op_id                op;
        emp_error                err = {0};
        char                     want[64];

        int     count = kit_inputs(b, c->inputs, input);
        int32_t before = emp_graph_builder_op_count(b);
        cr_expect_eq(emp_graph_builder_add(b, "op", c->type, &c->attrs, input, count,
                                           NULL, 0, &op, &err),
                     EMP_EFORMAT, "%s(%s)", c->type, c->inputs);
        snprintf(want, sizeof want, "op \"op\" of type %s", c->type);
        cr_expect(strstr(err.msg, want) && strstr(err.msg, c->expected), "%s", err.msg);
        cr_expect_eq(op, -1);
        cr_expect_eq(emp_graph_builder_op_count(b), before,
                     "a refused op leaves no trace");
        cr_expect_eq(emp_graph_builder_find(b, "op", 2), -1);
        emp_graph_builder_destroy(b);
    }
}

Test(op_shapes, table_is_sorted_complete_and_found)
{
    int32_t            count;
    const emp_op_type *table = emp_op_type_table(&count);

    cr_assert_gt(count, 150);
    for (int32_t i = 0; i < count; i++) {
        cr_expect(i == 0 || strcmp(table[i - 1].name, table[i].name) < 0,
                  "%s is out of order", table[i].name);
        cr_expect_eq(emp_op_type_find(table[i].name), &table[i]);
        cr_expect_not_null(table[i].infer, "%s", table[i].name);
        cr_expect(table[i].work != EMP_WORK_NOTHING || table[i].rates.cycles == 0.0,
                  "%s has rates and no work", table[i].name);
        cr_expect(table[i].kinds & EMP_KIND_CPU, "%s runs nowhere", table[i].name);
    }
    cr_expect_null(emp_op_type_find("NeverHeardOf"));
    cr_expect_null(emp_op_type_find(""));
}

/* ---- costs ---- */

struct cost_case {
    const char  *type;
    const char  *inputs;
    emp_op_attrs attrs;
    emp_op_cost  want; /* bytes and FLOPs exactly; cycles to rounding */
};

#define WANT(of_class, of_work, of_part, flop, read, written, rows, columns, inner,     \
             copies, launched, cycles, workspace, layout, layout_launched, of_window)   \
    {                                                                                   \
        .op_class = (of_class), .work = (of_work), .part = (of_part), .flops = (flop),  \
        .bytes_read = (read), .bytes_written = (written), .m = (rows), .n = (columns),  \
        .k = (inner), .batch = (copies), .kernels = (launched), .cpu_cycles = (cycles), \
        .workspace_bytes = (workspace), .layout_bytes = (layout),                       \
        .layout_kernels = (layout_launched), .window = (of_window)                      \
    }

/* clang-format off */
static const struct cost_case cost_cases[] = {
    {"Sigmoid", "f[64,128]", {0},
     WANT(EMP_OP_ELEMENTWISE, EMP_WORK_ELEMENTWISE, EMP_PART_FORWARD, 8192, 4 * 8192, 4 * 8192, 0, 0, 0, 0, 1, 30 * 8192, 0, 0, 0, EMP_CONV_WIDE)},
    {"Mul", "f[64,128] f[64,128]", {0},
     WANT(EMP_OP_ELEMENTWISE, EMP_WORK_ELEMENTWISE, EMP_PART_FORWARD, 8192, 2 * 4 * 8192, 4 * 8192, 0, 0, 0, 0, 1, 8192, 0, 0, 0, EMP_CONV_WIDE)},
    /* 40 tensors: the first kernel adds 8, each further one 7 more */
    {"AddN", "f[8] f[8] f[8] f[8] f[8] f[8] f[8] f[8] f[8]", {0},
     WANT(EMP_OP_ELEMENTWISE, EMP_WORK_ELEMENTWISE, EMP_PART_FORWARD, 8 * 8, 9 * 4 * 8, 4 * 8, 0, 0, 0, 0, 2, 8 * 8, 0, 0, 0, EMP_CONV_WIDE)},
    {"MatMul", "f[64,4096] f[4096,8192]", {0},
     WANT(EMP_OP_GEMM, EMP_WORK_PRODUCT, EMP_PART_FORWARD, 2.0 * 64 * 4096 * 8192, 4LL * (64 * 4096 + 4096 * 8192), 4 * 64 * 8192,
      64, 8192, 4096, 1, 1, 0, 0, 0, 0, EMP_CONV_WIDE)},
    {"MatMul", "f[64,4096] f[64,8192]", {.transpose_a = true},
     WANT(EMP_OP_GEMM, EMP_WORK_PRODUCT, EMP_PART_FORWARD, 2.0 * 64 * 4096 * 8192, 4LL * 64 * (4096 + 8192), 4LL * 4096 * 8192,
      4096, 8192, 64, 1, 1, 0, 0, 0, 0, EMP_CONV_WIDE)},
    {"Einsum", "f[2,7,4,8] f[2,5,4,8]", {.equation = "BTNH,BSNH->BNTS"},
     WANT(EMP_OP_GEMM, EMP_WORK_PRODUCT, EMP_PART_FORWARD, 2.0 * 2 * 7 * 4 * 8 * 5, 4LL * (2 * 7 * 4 * 8 + 2 * 5 * 4 * 8), 4 * 2 * 4 * 7 * 5,
      7, 5, 8, 8, 1, 0, 0, 0, 0, EMP_CONV_WIDE)},
    {"BatchMatMul", "f[64,1,40] f[64,40,1024]", {0},
     WANT(EMP_OP_GEMM, EMP_WORK_PRODUCT, EMP_PART_FORWARD, 2.0 * 64 * 40 * 1024, 4LL * 64 * (40 + 40 * 1024), 4 * 64 * 1024,
      1, 1024, 40, 64, 1, 0, 0, 0, 0, EMP_CONV_WIDE)},
    /* 7x7, stride 2; then a 3x3 window on each channel alone */
    {"Conv", "f[8,3,224,224] f[64,3,7,7]", {.strides = {2, 2}, .pads = {3, 3}, .pads_after = {3, 3}},
     WANT(EMP_OP_CONV, EMP_WORK_CONVOLUTION, EMP_PART_FORWARD, 2.0 * 8 * 112 * 112 * 64 * 147, 4LL * (8 * 3 * 224 * 224 + 64 * 147), 4LL * 8 * 64 * 112 * 112,
      8 * 112 * 112, 64, 147, 1, 1, 0, 0, 0, 0, EMP_CONV_WIDE)},
    {"Conv", "f[8,64,56,56] f[64,1,3,3]", {.pads = {1, 1}, .pads_after = {1, 1}, .group = 64},
     WANT(EMP_OP_POOL, EMP_WORK_CONVOLUTION, EMP_PART_FORWARD, 2.0 * 8 * 64 * 56 * 56 * 9, 4LL * (8 * 64 * 56 * 56 + 64 * 9), 4LL * 8 * 64 * 56 * 56,
      0, 0, 0, 0, 1, 2.0 * 8 * 64 * 56 * 56 * 9, 0, 0, 0, EMP_CONV_WIDE)},
    {"ConvGradFilter", "f[8,3,224,224] f[8,64,112,112]", {.shape = {4, {64, 3, 7, 7}}, .has_shape = true},
     WANT(EMP_OP_CONV, EMP_WORK_CONVOLUTION, EMP_PART_FILTER, 2.0 * 8 * 112 * 112 * 64 * 147, 4LL * (8 * 3 * 224 * 224 + 8 * 64 * 112 * 112), 4LL * 64 * 147,
      147, 64, 8 * 112 * 112, 1, 1, 0, 0, 0, 0, EMP_CONV_WIDE)},
    {"ConvGradInput", "f[8,64,112,112] f[64,3,7,7]", {.shape = {4, {8, 3, 112, 112}}, .has_shape = true},
     WANT(EMP_OP_CONV, EMP_WORK_CONVOLUTION, EMP_PART_INPUT, 2.0 * 8 * 112 * 112 * 64 * 147, 4LL * (8 * 64 * 112 * 112 + 64 * 147), 4LL * 8 * 3 * 112 * 112,
      8 * 112 * 112, 3, 64 * 49, 1, 1, 0, 0, 0, 0, EMP_CONV_WIDE)},
    {"LSTM", "f[10,2,4] f[1,12,4] f[1,12,3]", {0},
     WANT(EMP_OP_GEMM, EMP_WORK_RECURRENT, EMP_PART_FORWARD, 2.0 * 10 * 2 * 12 * 7 + 4 * 240, 4 * (80 + 48 + 36), 4 * 60, 2, 12, 7, 10, 20, 0, 0, 0, 0, EMP_CONV_WIDE)},
    {"FusedAdam", "&f[8] &f[8] &f[8] f[8]", {0},
     WANT(EMP_OP_OPTIMIZER, EMP_WORK_UPDATE, EMP_PART_FORWARD, 12 * 8, 4 * 4 * 8, 3 * 4 * 8, 0, 0, 0, 0, 1, 40 * 8, 0, 0, 0, EMP_CONV_WIDE)},
    {"Sum", "f[64,128] i[1]={0}", {0},
     WANT(EMP_OP_REDUCTION, EMP_WORK_REDUCE, EMP_PART_FORWARD, 8192, 4 * 8192, 4 * 128, 0, 0, 0, 0, 2, 8192, 0, 0, 0, EMP_CONV_WIDE)},
    {"BiasAddGrad", "f[64,128]", {0},
     WANT(EMP_OP_REDUCTION, EMP_WORK_REDUCE, EMP_PART_FORWARD, 8192, 4 * 8192, 4 * 128, 0, 0, 0, 0, 1, 8192, 0, 0, 0, EMP_CONV_WIDE)},
    {"ConcatV2", "f[64,128] f[64,128] i[]={1}", {0},
     WANT(EMP_OP_MOVEMENT, EMP_WORK_CONCAT, EMP_PART_FORWARD, 0, 4 * 64 * 256, 4 * 64 * 256, 0, 0, 0, 0, 1, 2 * 4 * 64 * 256 * 11.0 / 64, 0, 0, 0, EMP_CONV_WIDE)},
    {"Gather", "f[793470,64] i[100]", {0},
     WANT(EMP_OP_MOVEMENT, EMP_WORK_LOOKUP, EMP_PART_FORWARD, 0, 4 * 6400 + 400, 4 * 6400, 0, 0, 0, 0, 1, (8 * 6400 + 400) * 11.0 / 64, 0, 0, 0, EMP_CONV_WIDE)},
    {"Unpack", "f[64,3]", {.axis = 1, .count = 3},
     WANT(EMP_OP_MOVEMENT, EMP_WORK_MOVE, EMP_PART_FORWARD, 0, 4 * 192, 4 * 192, 0, 0, 0, 0, 3, 8 * 192 * 11.0 / 64, 0, 0, 0, EMP_CONV_WIDE)},
    {"Softmax", "f[64,40]", {0},
     WANT(EMP_OP_NORM, EMP_WORK_SOFTMAX, EMP_PART_FORWARD, 5 * 2560, 4 * 4 * 2560, 2 * 4 * 2560, 0, 0, 0, 0, 5, 18 * 2560, 0, 0, 0, EMP_CONV_WIDE)},
    {"SparseSoftmaxCrossEntropyWithLogits", "f[64,100] i[64]", {0},
     WANT(EMP_OP_NORM, EMP_WORK_LOSS, EMP_PART_FORWARD, 7 * 6400, 8 * 4 * 6400, 3 * 4 * 6400, 0, 0, 0, 0, 6, 35 * 6400, 0, 0, 0, EMP_CONV_WIDE)},
    {"MaxPool", "f[2,8,8,3]", {.ksize = {1, 2, 2, 1}, .strides = {1, 2, 2, 1}},
     WANT(EMP_OP_POOL, EMP_WORK_MAX_POOL, EMP_PART_FORWARD, 96 * 3, 4 * 384, 4 * 96, 0, 0, 0, 0, 1, 96 * 3, 0, 0, 0, EMP_CONV_WIDE)},
    {"AvgPool", "f[2,8,8,3]", {.ksize = {1, 2, 2, 1}, .strides = {1, 2, 2, 1}},
     WANT(EMP_OP_POOL, EMP_WORK_AVG_POOL, EMP_PART_FORWARD, 96 * 4, 4 * 384, 4 * 96, 0, 0, 0, 0, 1, 96 * 4, 0, 0, 0, EMP_CONV_WIDE)},
    {"MaxPoolGrad", "f[2,8,8,3] f[2,4,4,3] f[2,4,4,3]", {.ksize = {1, 2, 2, 1}, .strides = {1, 2, 2, 1}},
     WANT(EMP_OP_POOL, EMP_WORK_MAX_POOL, EMP_PART_BOTH, 96 * 3 + 384, 4 * (384 + 96 + 96), 4 * 384, 0, 0, 0, 0, 1, 96 * 3 + 384, 0, 0, 0, EMP_CONV_WIDE)},
    /* C (4 N H W + 6 + rsqrt); two passes to read, one to write, transposes there and back */
    {"FusedBatchNorm", "f[2,3,5,7] f[7] f[7] f[0] f[0]", {0},
     WANT(EMP_OP_NORM, EMP_WORK_BATCH_NORM, EMP_PART_FORWARD, 7 * (4 * 30 + 6 + 5), 4 * (2 * 210 + 2 * 7 + 2 * 210), 4 * (210 + 4 * 7 + 2 * 210),
      0, 0, 0, 0, 3, 9 * 210, 4 * 2 * 210, 4 * 2 * 210, 2, EMP_CONV_WIDE)},
    {"FusedBatchNormGrad", "f[2,7,3,5] f[2,7,3,5] f[7] f[7] f[7]", {.is_nchw = true},
     WANT(EMP_OP_NORM, EMP_WORK_BATCH_NORM, EMP_PART_BOTH, 7 * (11 * 30 + 5 + 5), 4 * (3 * 210 + 2 * 7), 4 * (210 + 4 * 7),
      0, 0, 0, 0, 1, 16 * 210, 0, 0, 0, EMP_CONV_WIDE)},
    /* 1x1 with stride 1 on NHWC is a plain matrix product */
    {"Conv2D", "f[2,5,5,64] f[1,1,64,32]", {.padding_is_same = true, .strides = {1, 1, 1, 1}},
     WANT(EMP_OP_GEMM, EMP_WORK_CONVOLUTION, EMP_PART_FORWARD, 2.0 * 50 * 64 * 32, 4 * (50 * 64 + 64 * 32), 4 * 50 * 32, 50, 32, 64, 1, 1, 0, 0, 0, 0, EMP_CONV_POINT)},
    /* NCHW: the filter's layout is changed, and a workspace as large as the input taken */
    {"Conv2D", "f[2,4,9,9] f[3,3,4,8]", {.is_nchw = true},
     WANT(EMP_OP_CONV, EMP_WORK_CONVOLUTION, EMP_PART_FORWARD, 2.0 * 98 * 8 * 36, 4 * (648 + 2 * 288), 4 * (784 + 288), 98, 8, 36, 1, 2, 0,
      4 * (288 + 784), 0, 0, EMP_CONV_WINOGRAD)},
    /* two groups: each makes 3 of 6 channels from 4 of 8 */
    {"Conv2D", "f[2,8,9,9] f[3,3,4,6]", {.is_nchw = true},
     WANT(EMP_OP_CONV, EMP_WORK_CONVOLUTION, EMP_PART_FORWARD, 2.0 * 98 * 6 * 36, 4 * (1296 + 2 * 216), 4 * (588 + 216), 98, 3, 36, 2, 2, 0,
      4 * (216 + 1296), 0, 0, EMP_CONV_WINOGRAD)},
    {"Conv2D", "f[2,4,11,11] f[3,3,4,8]", {.is_nchw = true, .dilations = {1, 1, 2, 2}},
     WANT(EMP_OP_CONV, EMP_WORK_CONVOLUTION, EMP_PART_FORWARD, 2.0 * 98 * 8 * 36, 4 * (968 + 2 * 288), 4 * (784 + 288), 98, 8, 36, 1, 2, 0,
      4 * (288 + 968), 0, 0, EMP_CONV_WIDE)},
    /* NHWC: input and output are transposed too */
    {"Conv2D", "f[2,9,9,4] f[3,3,4,8]", {0},
     WANT(EMP_OP_CONV, EMP_WORK_CONVOLUTION, EMP_PART_FORWARD, 2.0 * 98 * 8 * 36, 4 * (648 + 288 + 288 + 648 + 784), 4 * (784 + 288 + 648 + 784),
      98, 8, 36, 1, 4, 0, 4 * (288 + 648 + 784 + 784), 4 * (648 + 784), 2, EMP_CONV_WINOGRAD)},
    {"Conv2DBackpropFilter", "f[2,4,9,9] i[4]={3,3,4,8} f[2,8,7,7]", {.is_nchw = true},
     WANT(EMP_OP_CONV, EMP_WORK_CONVOLUTION, EMP_PART_FILTER, 2.0 * 98 * 8 * 36, 4 * (648 + 4 + 784 + 288), 4 * (288 + 288), 36, 8, 98, 1, 2, 0,
      4 * (288 + 784), 0, 0, EMP_CONV_WINOGRAD)},
    /* over 162 input pixels and 4 channels; K = 98 * 8 * 36 / (162 * 4) keeps the FLOPs */
    {"Conv2DBackpropInput", "i[4]={2,4,9,9} f[3,3,4,8] f[2,8,7,7]", {.is_nchw = true},
     WANT(EMP_OP_CONV, EMP_WORK_CONVOLUTION, EMP_PART_INPUT, 2.0 * 98 * 8 * 36, 4 * (4 + 288 + 784 + 288), 4 * (648 + 288), 162, 4, 44, 1, 2, 0,
      4 * (288 + 784), 0, 0, EMP_CONV_WINOGRAD)},
    {"ApplyGradientDescent", "&f[100] f[] f[100]", {0},
     WANT(EMP_OP_OPTIMIZER, EMP_WORK_UPDATE, EMP_PART_FORWARD, 2 * 100, 2 * 400, 400, 0, 0, 0, 0, 1, 200, 0, 0, 0, EMP_CONV_WIDE)},
    {"ApplyMomentum", "&f[100] &f[100] f[] f[100] f[]", {0},
     WANT(EMP_OP_OPTIMIZER, EMP_WORK_UPDATE, EMP_PART_FORWARD, 4 * 100, 4 * 400, 2 * 400, 0, 0, 0, 0, 2, 400, 0, 0, 0, EMP_CONV_WIDE)},
    {"ApplyAdam", "&f[100] &f[100] &f[100] f[] f[] f[] f[] f[] f[] f[100]", {0},
     WANT(EMP_OP_OPTIMIZER, EMP_WORK_UPDATE, EMP_PART_FORWARD, 14 * 100, 7 * 400, 3 * 400, 0, 0, 0, 0, 3, 4000, 0, 0, 0, EMP_CONV_WIDE)},
    /* only rows of the gradient, and their indices of 4 or 8 bytes */
    {"SparseApplyAdagrad", "&f[9999,10] &f[9999,10] f[] f[5,10] i[5]", {0},
     WANT(EMP_OP_OPTIMIZER, EMP_WORK_SCATTER, EMP_PART_FORWARD, 5 * 50, 3 * 200 + 20, 2 * 200, 0, 0, 0, 0, 1, 20 * 50, 0, 0, 0, EMP_CONV_WIDE)},
    {"SparseApplyAdagrad", "&f[9999,10] &f[9999,10] f[] f[5,10] l[5]", {0},
     WANT(EMP_OP_OPTIMIZER, EMP_WORK_SCATTER, EMP_PART_FORWARD, 5 * 50, 3 * 200 + 40, 2 * 200, 0, 0, 0, 0, 1, 20 * 50, 0, 0, 0, EMP_CONV_WIDE)},
    {"ScatterAdd", "&f[9999,10] i[5] f[5,10]", {0},
     WANT(EMP_OP_OPTIMIZER, EMP_WORK_SCATTER, EMP_PART_FORWARD, 50, 2 * 200 + 20, 200, 0, 0, 0, 0, 1, 50, 0, 0, 0, EMP_CONV_WIDE)},
    /* hand their input on, or touch no data at all */
    {"Sum", "f[64,128] i[0]={}", {0}, {.op_class = EMP_OP_KERNELLESS, .work = EMP_WORK_REDUCE}},
    {"Sum", "f[64,1] i[1]={1}", {0}, {.op_class = EMP_OP_KERNELLESS, .work = EMP_WORK_REDUCE}},
    {"Slice", "f[64,128] i[2]={0,0} i[2]={64,128}", {0}, {.op_class = EMP_OP_KERNELLESS, .work = EMP_WORK_MOVE}},
    {"Slice", "f[64,128] i[2]={8,0} i[2]={16,128}", {0}, {.op_class = EMP_OP_KERNELLESS, .work = EMP_WORK_MOVE}},
    {"Transpose", "f[64,128] i[2]={0,1}", {0}, {.op_class = EMP_OP_KERNELLESS, .work = EMP_WORK_TRANSPOSE}},
    {"AddN", "f[8]", {0}, {.op_class = EMP_OP_KERNELLESS, .work = EMP_WORK_ELEMENTWISE}},
    {"Cast", "f[8]", {.dtype = EMP_DTYPE_FLOAT}, {.op_class = EMP_OP_KERNELLESS, .work = EMP_WORK_CAST}},
    {"Shape", "f[8]", {0}, {.op_class = EMP_OP_KERNELLESS, .work = EMP_WORK_NOTHING}},
    {"Reshape", "f[8] i[2]={2,4}", {0}, {.op_class = EMP_OP_KERNELLESS, .work = EMP_WORK_NOTHING}},
};
/* clang-format on */

/* The graph of one op behind its sources; the op is the last one. */
static emp_graph *graph_of_one(const char *type, const char *inputs,
                               const emp_op_attrs *attrs)
{
    emp_graph_builder *b = kit_begin();
    emp_port           input[16];
    emp_op_id          op;
    int                count = kit_inputs(b, inputs, input);

    ASSERT_OK(
        emp_graph_builder_add(b, "op", type, attrs, input, count, NULL, 0, &op, &err));
    return kit_finish(b);
}

Test(op_costs, follow_the_formulas)
{
    for (size_t i = 0; i < COUNT(cost_cases); i++) {
        const struct cost_case *c = &cost_cases[i];
        OWN_GRAPH               g = graph_of_one(c->type, c->inputs, &c->attrs);
        const emp_op_cost      *got = g->op[g->op_count - 1].cost;

        cr_expect_eq(got->op_class, c->want.op_class, "%s", c->type);
        cr_expect_eq(got->work, c->want.work, "%s", c->type);
        cr_expect_eq(got->part, c->want.part, "%s", c->type);
        cr_expect_eq(got->flops, c->want.flops, "%s(%s): %g FLOP", c->type, c->inputs,
                     got->flops);
        cr_expect_eq(got->bytes_read, c->want.bytes_read, "%s(%s): reads %lld", c->type,
                     c->inputs, (long long)got->bytes_read);
        cr_expect_eq(got->bytes_written, c->want.bytes_written, "%s(%s): writes %lld",
                     c->type, c->inputs, (long long)got->bytes_written);
        cr_expect(got->m == c->want.m && got->n == c->want.n && got->k == c->want.k &&
                      got->batch == c->want.batch,
                  "%s(%s): m %lld n %lld k %lld batch %lld", c->type, c->inputs,
                  (long long)got->m, (long long)got->n, (long long)got->k,
                  (long long)got->batch);
        cr_expect_eq(got->kernels, c->want.kernels, "%s(%s): %d kernels", c->type,
                     c->inputs, got->kernels);
        cr_expect_float_eq(got->cpu_cycles, c->want.cpu_cycles, 1e-6, "%s(%s): %g cycles",
                           c->type, c->inputs, got->cpu_cycles);
        cr_expect_eq(got->workspace_bytes, c->want.workspace_bytes,
                     "%s(%s): workspace %lld", c->type, c->inputs,
                     (long long)got->workspace_bytes);
        cr_expect_eq(got->layout_bytes, c->want.layout_bytes, "%s(%s): transposes %lld",
                     c->type, c->inputs, (long long)got->layout_bytes);
        cr_expect_eq(got->layout_kernels, c->want.layout_kernels, "%s(%s)", c->type,
                     c->inputs);
        cr_expect_eq(got->window, c->want.window, "%s(%s)", c->type, c->inputs);
    }
}

struct device_case {
    const char  *type, *inputs;
    emp_op_attrs attrs;
    bool         on_gpu;          /* has a GPU kernel */
    uint32_t     host_input_mask; /* when it runs there */
    bool         output_on_host;
};

/* clang-format off */
static const struct device_case device_cases[] = {
    {"MatMul", "f[2,2] f[2,2]", {0}, true, 0, false},
    {"MatMul", "i[2,2] i[2,2]", {0}, false, 0, false},
    {"Add", "f[2] f[2]", {0}, true, 0, false},
    {"Add", "i[2] i[2]", {0}, true, UINT32_MAX, true},
    {"Equal", "i[2] i[2]", {0}, true, UINT32_MAX, true},
    {"Equal", "f[2] f[2]", {0}, true, 0, false},
    {"Reshape", "f[2] i[1]={2}", {0}, true, 2, false},
    {"Shape", "f[2]", {0}, true, 0, true},
    {"Sum", "f[2] i[1]={0}", {0}, true, 2, false},
    {"Gather", "f[2,2] i[2]", {0}, true, 0, false},
    {"Unique", "i[2]", {0}, false, 0, false},
    {"SparseApplyAdagrad", "&f[9,2] &f[9,2] f[] f[2,2] i[2]", {0}, false, 0, false},
    {"LogUniformCandidateSampler", "l[4,1]", {.num_sampled = 9}, false, 0, false},
    {"SparseToDense", "i[2,2] i[2]={3,3} f[2] f[]", {0}, false, 0, false},
    {"AssignAdd", "&l[] l[]", {0}, false, 0, false},
    {"AssignAdd", "&f[] f[]", {0}, true, 0, false},
    {"Assert", "b[] f[]", {0}, false, 0, false},
    {"Identity", "s[]", {0}, false, 0, false},
    {"NeverHeardOf", "f[2]", {0}, true, 0, false},
};
/* clang-format on */

Test(op_costs, kernels_exist_where_the_element_type_has_one)
{
    for (size_t i = 0; i < COUNT(device_cases); i++) {
        const struct device_case *c = &device_cases[i];
        OWN_GRAPH                 g = graph_of_one(c->type, c->inputs, &c->attrs);
        emp_op_id                 last = g->op_count - 1;
        const emp_op             *op = &g->op[last];

        cr_expect_eq((op->kinds & EMP_KIND_GPU) != 0, c->on_gpu, "%s(%s)", c->type,
                     c->inputs);
        cr_expect(op->kinds & EMP_KIND_CPU, "%s(%s)", c->type, c->inputs);
        cr_expect_eq(op->host_input_mask, c->host_input_mask, "%s(%s): %x", c->type,
                     c->inputs, op->host_input_mask);
        if (g->output_offset[last] < g->output_offset[last + 1])
            cr_expect_eq(g->tensor[g->output_offset[last]].on_host, c->output_on_host,
                         "%s(%s)", c->type, c->inputs);
        if (c->host_input_mask == UINT32_MAX)
            cr_expect_eq(op->cost->kernels, 0, "%s(%s) launches no kernel", c->type,
                         c->inputs);
    }
}

Test(op_costs, unknown_types_count_as_element_wise)
{
    OWN_GRAPH g = graph_of_one("NeverHeardOf", "f[10] f[10]", &(emp_op_attrs){0});

    cr_expect_eq(g->unknown_op_count, 1);
    cr_expect_eq(g->op[2].cost->op_class, EMP_OP_ELEMENTWISE);
    cr_expect_eq(g->op[2].cost->flops, 10.0);
    cr_expect_eq(g->op[2].cost->bytes_read, 80);
}
