# frozen_string_literal: true

require_relative "lib/tiercel/insight/version"

Gem::Specification.new do |spec|
  spec.name = "tiercel-insight"
  spec.version = Tiercel::Insight::VERSION
  spec.authors = ["The Tiercel developers"]
  spec.summary = "Shows what a Rails cache does, what it is worth, and when it is wrong"
  spec.description = "Hits, the cost of misses, the value of more memory, stale values: for every cache store that " \
                     "Rails can mount. Commands, a web page, metrics and a doctor."
  spec.homepage = "https://github.com/tiercel/tiercel"
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.3"
  spec.metadata = { "rubygems_mfa_required" => "true" }

  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*.{rb,rake,erb,css,js,svg}", "README.md", "LICENSE"].select { |path| File.file?(path) }
  end
  spec.require_paths = ["lib"]

  spec.add_dependency "activesupport", ">= 7.2", "< 9"
  spec.add_dependency "rack", ">= 2.2"
end
