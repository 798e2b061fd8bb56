# frozen_string_literal: true

require_relative "../../support/lab_case"

class FidelityTest < LabCase
  Serialization = Lab::Serialization

  def fates(name) = Serialization::Fidelity.new(Serialization.fetch(name)).to_h

  def test_marshal_keeps_what_can_be_kept
    lost = fates("marshal").reject { |_name, fate| fate == "kept" }
    assert_equal({ "serializer" => "marshal", "frozen Array" => "not frozen", "Proc" => "refused: TypeError" }, lost)
  end

  def test_json_changes_types
    found = fates("json").values_at("Symbol", "NaN", "Hash with Symbols as keys", "the same Array twice",
                                    "String in UTF-8")
    assert_equal ["comes back as String", "refused: JSON::GeneratorError", "keys are Strings", "two Arrays", "kept"],
                 found
  end

  def test_rails_and_paquito_know_records
    %w[as_message_pack paquito].each do |name|
      assert_equal %w[kept kept], fates(name).values_at("record", "record's loaded association"), name
    end
  end

  def test_a_library_that_ends_its_process_says_so
    library = Serialization::Library.new("planted") do
      [->(value) { value == :published ? exit!(1) : Marshal.dump(value) }, Marshal.method(:load)]
    end
    found = Serialization::Fidelity.new(library).to_h
    assert_equal ["kept", "ends the process", "ends the process"], found.values_at("nil", "Symbol", "Proc")
  end

  def test_a_library_that_is_not_there_is_no_loss
    library = Serialization::Library.new("planted", feature: "a_gem_that_nobody_has") { [] }
    assert_match(/\Anot installed: gem a_gem_that_nobody_has/, Serialization::Fidelity.new(library).to_h["nil"])
  end
end
