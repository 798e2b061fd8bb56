# frozen_string_literal: true

# Everything that can be measured, by name: what the lab declares itself, and what each table adds. The parent plans
# with it, workers build with it.
require_relative "operations"
require_relative "stores"
require_relative "values"
Dir[File.join(__dir__, "tables", "*", "{stores,operations}.rb")].sort.each { |file| require file }
