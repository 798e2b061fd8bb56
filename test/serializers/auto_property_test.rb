# frozen_string_literal: true
# quick

require "test_helper"
require "bigdecimal"
require_relative "object_graphs"

# The auto serializer preserves everything that Marshal preserves; the test compares the loaded values as Marshal
# bytes: classes, encodings, instance variables, defaults, shared references.
class AutoPropertyTest < Tiercel::TestCase
  def graphs = long? ? 20_000 : 1_500

  def test_auto_loads_what_marshal_loads
    each_graph do |graph, seed|
      expected = Marshal.dump(Marshal.load(Marshal.dump(graph)))
      coder = Tiercel::Coder.new(compressor: nil)
      loaded = coder.load_value(coder.dump_value([graph], nil, nil)).first # a String alone needs no serializer
      assert expected == Marshal.dump(loaded), "seed #{seed}: #{inspect_graph(graph)}"
    end
  end

  def test_the_graphs_are_of_both_kinds
    plain = 0
    each_graph { |graph| plain += 1 if Tiercel::CodecExt.dump(graph) }

    assert_operator plain, :>, graphs / 10
    assert_operator graphs - plain, :>, graphs / 10
  end

  private

  def each_graph
    graphs.times { |seed| yield ObjectGraphs.new(seed, odd: [0.0, 0.02, 0.2][seed % 3]).make, seed }
  end

  def inspect_graph(graph) = graph.inspect.byteslice(0, 300)
end
