# frozen_string_literal: true
# suites: store*

require "test_helper"
require "active_support/cache/tiercel_store"
require "tiercel/contracts/backend_contract"

# The backend in docs/own-backends.md passes the contract that the page recommends.
module OwnBackendsPage
  PAGE = File.expand_path("../../docs/own-backends.md", __dir__)
  CODE, CALL = File.read(PAGE)[/^```ruby\n(.*?)^```/m, 1].split(/^(?=Tiercel::Backends::REGISTRY)/)
  module_eval(CODE, PAGE)

  class BackendTest < Tiercel::TestCase
    include Tiercel::Contracts::BackendContract

    def build_backend = HashBackend.new
  end

  class PageTest < Tiercel::TestCase
    def test_the_call_gives_what_stands_behind_the_arrow
      lines = CALL.lines
      OwnBackendsPage.module_eval(lines.first, PAGE)
      call, expected = lines.last.split(" # => ")
      assert_equal eval(expected), OwnBackendsPage.module_eval(call, PAGE) # rubocop:disable Security/Eval
    ensure
      forget(:hash)
    end

    def test_it_names_methods_that_there_are
      names = File.read(PAGE)[/^## What you may override.*/m].scan(/`(\w+)`/).flatten
      names -= %w[read_multi write_multi fetch_multi] # the store's
      assert_operator names.size, :>, 10
      assert_empty names.map(&:to_sym) - Tiercel::Backend.public_instance_methods
    end

    private

    # Removes the scheme, because the registry belongs to the whole process.
    def forget(scheme)
      %i[@loaders @loaded].each { |name| Tiercel::Backends::REGISTRY.instance_variable_get(name).delete(scheme) }
    end
  end
end
