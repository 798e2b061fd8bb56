# frozen_string_literal: true

require "test_helper"
require "bigdecimal"
require_relative "object_graphs"

# The auto serializer preserves everything that Marshal preserves; the test compares the loaded values as Marshal
# bytes: classes, encodings, instance variables, defaults, shared references.
class AutoPropertyTest < Tiercel::TestCase
  Auto = Tiercel::Serializers::Auto
  Plain = Tiercel::Serializers::Plain
  FORMS = [Plain, Tiercel::Codec.native].compact.freeze

  def graphs = long? ? 20_000 : 1_500

  def test_auto_loads_what_marshal_loads
    each_graph do |graph, seed|
      forms = methodless_module?(graph) ? FORMS - [Plain] : FORMS
      expected = Marshal.dump(Marshal.load(Marshal.dump(graph)))
      forms.each do |form|
        serializer = Auto.new(plain: form)
        assert expected == Marshal.dump(serializer.load(serializer.dump(graph))),
               "seed #{seed}: #{inspect_graph(graph)}"
      end
    end
  end

  def test_both_forms_write_the_same_bytes_and_read_each_other
    skip "the extension is not built" if FORMS.size == 1
    each_graph do |graph, seed|
      next if methodless_module?(graph)
      ruby, native = FORMS.map { |form| form.dump(graph) }
      assert ruby == native, "seed #{seed}: #{inspect_graph(graph)}"
      next unless ruby
      loaded = FORMS.map { |form| Marshal.dump(form.load(ruby)) }
      assert loaded.uniq.size == 1, "seed #{seed}: #{inspect_graph(graph)}"
    end
  end

  def test_the_graphs_are_of_both_kinds
    plain = 0
    each_graph { |graph| plain += 1 if Plain.dump(graph) }

    assert_operator plain, :>, graphs / 10
    assert_operator graphs - plain, :>, graphs / 10
  end

  private

  def each_graph
    graphs.times { |seed| yield ObjectGraphs.new(seed, odd: [0.0, 0.02, 0.2][seed % 3]).make, seed }
  end

  # The Ruby form does not notice an extension with a module without methods.
  def methodless_module?(graph) = Marshal.dump(graph).include?("ObjectGraphs::Marker")

  def inspect_graph(graph) = graph.inspect.byteslice(0, 300)
end
