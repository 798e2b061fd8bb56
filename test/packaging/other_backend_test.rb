# frozen_string_literal: true

require "test_helper"
require_relative "../support/installed_gem"

# A backend in a separate gem with the packaged Tiercel: the published contract, and fetch and tags of a store over
# this backend.
class OtherBackendTest < Tiercel::TestCase
  FOLDER = File.expand_path("example_backend", __dir__)

  def test_the_contract_of_backends_with_leases_and_tags
    InstalledGem.open(path: "/nonexistent") do |tiercel|
      tiercel.install_beside(FOLDER, "tiercel-example")
      ran = tiercel.ruby(%(gem "tiercel-example"; load ARGV.shift), File.join(FOLDER, "suite.rb"), "--verbose")
      assert ran.ok?, ran.to_s
      passed = ran.out.scan(/^(Example\w+#test_\w+) = [\d.]+ s = \.$/).flatten
      assert_operator passed.size, :>, 80, ran.out
      %w[Backend#test_a_fill_loses_against_every_other_change Backend#test_no_entry_outlives_its_generation
         Store#test_of_several_processes_one_computes Store#test_tags].each do |name|
        assert_includes passed, "Example#{name.sub("#", "Test#")}"
      end
    end
  end

  # They test Tiercel's own store, and its authors have the repository.
  def test_the_suites_of_the_store_are_not_shipped
    shipped = Dir.children(File.join(CommittedFiles::ROOT, "lib/tiercel/contracts")).grep(/_contract\.rb/)
    assert_equal %w[backend_contract.rb compressor_contract.rb serializer_contract.rb], shipped.sort
  end
end
